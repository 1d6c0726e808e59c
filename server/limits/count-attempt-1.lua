-- count-attempt
-- Counts an attempt that has not succeeded yet. The window starts with the first one.
-- KEYS  1 counter
-- ARGV  1 attempts allowed  2 window ms
-- Reply 0 if the attempt may continue, otherwise ms until the next one may
local count = tonumber(redis.call('GET', KEYS[1]) or '0')
if count >= tonumber(ARGV[1]) then
  return math.max(redis.call('PTTL', KEYS[1]), 1)
end
if redis.call('INCR', KEYS[1]) == 1 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
