-- end-attempt
-- Records that an attempt has ended and another will follow.
-- KEYS  1 job
-- ARGV  1 nonce of the attempt  2 '1' if the request may have been sent, otherwise ''
--       3 sealed report of its reply, or '' if there is none
-- Reply 'ok' | 'changed'
if redis.call('HGET', KEYS[1], 'f') ~= ARGV[1] then
  return 'changed'
end
redis.call('HSET', KEYS[1], 'f', '')
if ARGV[2] == '1' then
  redis.call('HSET', KEYS[1], 'o', 1)
  if ARGV[3] == '' then
    redis.call('HDEL', KEYS[1], 'l')
  else
    redis.call('HSET', KEYS[1], 'l', ARGV[3])
  end
end
return 'ok'
