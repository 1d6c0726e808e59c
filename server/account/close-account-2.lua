-- close-account
-- Lets an account without keys get none for a while, in which it is deleted.
-- KEYS  1 directory of the account's keys (sorted set)  2 mark of a closed account (string)
-- ARGV  1 duration in ms
-- Reply 'ok' | 'filled'
local directory, mark = KEYS[1], KEYS[2]
local duration = ARGV[1]
if redis.call('ZCARD', directory) > 0 then
  return 'filled'
end
redis.call('SET', mark, '', 'PX', duration)
return 'ok'
