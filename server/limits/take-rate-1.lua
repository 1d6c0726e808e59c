-- take-rate
-- Counts a request against a rate, by the generic cell rate algorithm (GCRA): the requests of a period at once, then evenly.
-- KEYS  1 counter (string: time at which all counted requests are used up, in us)
-- ARGV  1 requests in the period  2 period in ms
-- Reply 0 if the request may continue, otherwise ms until the next one may
-- The counter is written neither to disk nor to replicas, so that no request waits for them; a restart may lose a period.
redis.set_repl(redis.REPL_NONE)
local counter = KEYS[1]
local count = tonumber(ARGV[1])
local period = tonumber(ARGV[2]) * 1000
local interval = period / count
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
-- At most a period ahead: after the clock was set back, a larger value would reject all requests until it catches up.
local used = math.min(math.max(tonumber(redis.call('GET', counter) or '0'), now), now + period)
local over = used + interval - now - period
-- Half an interval absorbs accumulated rounding errors.
if over > interval / 2 then
  return math.ceil(over / 1000)
end
redis.call('SET', counter, string.format('%.3f', used + interval), 'PX', math.ceil((used + interval - now) / 1000))
return 0
