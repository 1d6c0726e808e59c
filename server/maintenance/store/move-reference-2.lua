-- move-reference
-- Gives an entry of the reference index its place under the newest root, or removes it.
-- KEYS  1 item  2 reference index
-- ARGV  1 member that was found  2 the item's metadata that was read, '' for no item  3 member to add, '' for none
-- Reply 'ok' | 'changed' if the item is no longer what was read
-- What has expired is no item, though its metadata is there.
local meta = redis.call('HEXISTS', KEYS[1], 'c') == 1 and redis.call('HGET', KEYS[1], 'm') or ''
if meta ~= ARGV[2] then
  return 'changed'
end
if ARGV[3] ~= '' then
  redis.call('ZADD', KEYS[2], 0, ARGV[3])
end
redis.call('ZREM', KEYS[2], ARGV[1])
return 'ok'
