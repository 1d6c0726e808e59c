-- start-report
-- Replaces the request of a job by its report: from now on the webhook is called. The stored phase is 'tell'.
-- KEYS  1 job
-- ARGV  1 flight that was read  2 sealed report
-- Reply 'ok' | 'changed'
local have = redis.call('HMGET', KEYS[1], 'p', 'f')
if have[1] ~= 'send' or have[2] ~= ARGV[1] then
  return 'changed'
end
redis.call('HDEL', KEYS[1], 'o', 'l')
redis.call('HSET', KEYS[1], 'p', 'tell', 'r', ARGV[2], 'n', 0, 'f', '')
return 'ok'
