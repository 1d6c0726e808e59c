-- end-attempt
-- Records that an attempt has ended and another will follow.
-- KEYS  1 job
-- ARGV  1 nonce of the attempt  2 '1' if the request may have been sent, otherwise ''
--       3 sealed report of its reply, or '' if there is none  4 how it ended, see the prelude  5 time of the next one in ms
-- Reply 'ok' | 'changed'
local have = redis.call('HMGET', KEYS[1], 'f', 'p')
if have[1] ~= ARGV[1] then
  return 'changed'
end
endOf(KEYS[1], have[2], ARGV[4])
redis.call('HSET', KEYS[1], 'f', '', 'x', ARGV[5])
if ARGV[2] == '1' then
  redis.call('HSET', KEYS[1], 'o', 1)
  if ARGV[3] == '' then
    redis.call('HDEL', KEYS[1], 'l')
  else
    redis.call('HSET', KEYS[1], 'l', ARGV[3])
  end
end
return 'ok'
