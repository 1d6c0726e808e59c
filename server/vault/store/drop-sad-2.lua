-- drop-sad
-- Deletes the sensitive authentication data of an item, and replaces its metadata.
-- KEYS  1 item  2 sad
-- ARGV  1 last 16 bytes of the metadata that was read  2 metadata without such data
-- Reply 'ok' | 'missing' | 'changed'
local meta = redis.call('HGET', KEYS[1], 'm')
if not meta then
  return 'missing'
end
if string.sub(meta, -16) ~= ARGV[1] then
  return 'changed'
end
redis.call('HSET', KEYS[1], 'm', ARGV[2])
redis.call('DEL', KEYS[2])
return 'ok'
