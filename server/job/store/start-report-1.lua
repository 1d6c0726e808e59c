-- start-report
-- Replaces the request of a job by its report: from now on the webhook is called. The stored phase is 'tell'.
-- KEYS  1 job
-- ARGV  1 flight that was read  2 sealed report  3 outcome: 'done', 'failed' or 'unknown'
--       4 how the attempt in flight ended, see the prelude
-- Reply 'ok' | 'changed'
local flight, report, outcome, ended = unpack(ARGV)
local have = redis.call('HMGET', KEYS[1], 'p', 'f')
if have[1] ~= 'send' or have[2] ~= flight then
  return 'changed'
end
endOf(KEYS[1], 'send', ended)
redis.call('HDEL', KEYS[1], 'o', 'l', 'x')
redis.call('HSET', KEYS[1], 'p', 'tell', 'r', report, 'n', 0, 'f', '', 'v', outcome)
return 'ok'
