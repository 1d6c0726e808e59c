-- end-attempt
-- Records that an attempt has ended and another will follow. A delivery of an event then has no part of what the queue has of its
-- subscription at once: its score is raised by 1e15.
-- KEYS  1 job
-- ARGV  1 nonce of the attempt  2 '1' if the request may have been sent, otherwise ''
--       3 sealed report of its reply, or '' if there is none  4 how it ended, see the prelude  5 time of the next one in ms
-- Reply 'ok' | 'changed'
local nonce, sent, report, ended, next_ms = unpack(ARGV)
local have = redis.call('HMGET', KEYS[1], 'f', 'p', 's', 'c')
if have[1] ~= nonce then
  return 'changed'
end
endOf(KEYS[1], have[2], ended)
redis.call('HSET', KEYS[1], 'f', '', 'x', next_ms)
if have[3] then
  redis.call('ZADD', have[3], 'XX', string.format('%.0f', 1e15 + tonumber(have[4])), KEYS[1]:match('[^:]*$'))
end
if sent == '1' then
  redis.call('HSET', KEYS[1], 'o', 1)
  if report == '' then
    redis.call('HDEL', KEYS[1], 'l')
  else
    redis.call('HSET', KEYS[1], 'l', report)
  end
end
return 'ok'
