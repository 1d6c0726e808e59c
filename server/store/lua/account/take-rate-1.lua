-- take-rate
-- Counts a request against a rate, by the generic cell rate algorithm: a minute's worth at once, then evenly spread.
-- KEYS  1 counter (string: when all that was counted is used up again, in us)
-- ARGV  1 requests a minute
-- Reply 0 when the request may go on, else ms until the next one may
-- A restart may forget a minute's counts: they go neither to disk nor to replicas, so that nothing waits for either.
redis.set_repl(redis.REPL_NONE)
local minute = 60000000
local interval = minute / tonumber(ARGV[1])
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
-- No further ahead than counting can lead: a clock that was set back would shut everybody out until it catches up.
local used = math.min(math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now), now + minute)
local over = used + interval - now - minute
-- Half an interval takes in what rounding adds up to.
if over > interval / 2 then
  return math.ceil(over / 1000)
end
redis.call('SET', KEYS[1], string.format('%.3f', used + interval), 'PX', math.ceil((used + interval - now) / 1000))
return 0
