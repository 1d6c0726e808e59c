-- replace-record
-- Replaces a record if it is still the one that was read.
-- KEYS  1 record
-- ARGV  1 bytes that were read  2 new bytes
-- Reply 'ok' | 'changed'
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 'changed'
end
redis.call('SET', KEYS[1], ARGV[2])
return 'ok'
