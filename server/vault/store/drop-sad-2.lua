-- drop-sad
-- Deletes the sensitive authentication data of an item, and replaces its metadata.
-- KEYS  1 item  2 sad
-- ARGV  1 last 16 bytes of the metadata that was read  2 metadata without such data
-- Reply 'ok' | 'missing' | 'changed'
local item, sad = KEYS[1], KEYS[2]
local checked, bare = ARGV[1], ARGV[2]

local meta = redis.call('HGET', item, 'm')
if not meta then
  return 'missing'
end
if string.sub(meta, -16) ~= checked then
  return 'changed'
end
redis.call('HSET', item, 'm', bare)
redis.call('DEL', sad)
return 'ok'
