-- move-reference
-- Gives an entry of the reference index its place under the newest root, or removes it.
-- KEYS  1 item  2 reference index
-- ARGV  1 member that was found  2 the item's metadata that was read, '' for no item  3 member to add, '' for none
-- Reply 'ok' | 'changed' if the item was changed since it was read
local item, references = KEYS[1], KEYS[2]
local found, read_meta, own = ARGV[1], ARGV[2], ARGV[3]
-- An expired item is none, though its metadata is there.
local meta = redis.call('HEXISTS', item, 'c') == 1 and redis.call('HGET', item, 'm') or ''
if meta ~= read_meta then
  return 'changed'
end
if own ~= '' then
  redis.call('ZADD', references, 0, own)
end
redis.call('ZREM', references, found)
return 'ok'
