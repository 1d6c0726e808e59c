-- replace-field
-- Replaces a field of a hash if it is still the one that was read.
-- KEYS  1 hash
-- ARGV  1 field  2 bytes that were read  3 new bytes
-- Reply 'ok' | 'changed'
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then
  return 'changed'
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 'ok'
