-- replace-field
-- Replaces a field of a hash if it is still the one that was read.
-- KEYS  1 hash
-- ARGV  1 field  2 bytes that were read  3 new bytes
-- Reply 'ok' | 'changed'
local hash = KEYS[1]
local field, read, bytes = ARGV[1], ARGV[2], ARGV[3]
if redis.call('HGET', hash, field) ~= read then
  return 'changed'
end
redis.call('HSET', hash, field, bytes)
return 'ok'
