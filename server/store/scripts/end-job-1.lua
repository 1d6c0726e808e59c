-- Notes that an attempt is over and another will follow.
-- KEYS  1 job
-- ARGV  1 nonce of the attempt
-- Reply 'ok' | 'changed'
if redis.call('HGET', KEYS[1], 'f') ~= ARGV[1] then
  return 'changed'
end
redis.call('HSET', KEYS[1], 'f', '')
return 'ok'
