-- count-attempt
-- Counts an attempt that has not succeeded yet. The window starts with the first one.
-- KEYS  1 counter
-- ARGV  1 attempts allowed  2 window ms
-- Reply 0 if the attempt may continue, otherwise ms until the next one may
local counter = KEYS[1]
local attempts_max, window_ms = tonumber(ARGV[1]), ARGV[2]
if tonumber(redis.call('GET', counter) or '0') >= attempts_max then
  return math.max(redis.call('PTTL', counter), 1)
end
if redis.call('INCR', counter) == 1 then
  redis.call('PEXPIRE', counter, window_ms)
end
return 0
