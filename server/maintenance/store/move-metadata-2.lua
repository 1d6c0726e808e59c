-- move-metadata
-- Gives the entries of an item in the metadata index their places under the newest root, or removes one of no item.
-- KEYS  1 item  2 metadata index
-- ARGV  1 member that was found  2 the item's metadata that was read, '' for no item  3 its token  4 its digests
-- Reply 'ok' | 'changed' if the item was changed since it was read
local item, metadata = KEYS[1], KEYS[2]
local found, read_meta, token, digests = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
-- An expired item is none, though its metadata is there.
local meta = redis.call('HEXISTS', item, 'c') == 1 and redis.call('HGET', item, 'm') or ''
if meta ~= read_meta then
  return 'changed'
end
local before = redis.call('HGET', item, 'y') or ''
add_digests(item, token, metadata, digests)
redis.call('ZREM', metadata, found)
if before ~= digests then
  each_digest(before, token, function(member)
    redis.call('ZREM', metadata, member)
  end)
end
return 'ok'
