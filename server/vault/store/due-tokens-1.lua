-- due-tokens
-- Finds tokens of a bucket that have expired by two clocks, that of a server and that of Redis.
-- KEYS  1 expiries
-- ARGV  1 clock of the server, ms  2 '' for items that have expired, or the time in ms for which logs are kept after
--       that, for logs that are due  3 number of tokens to skip  4 greatest number of tokens
-- Reply the tokens
local expiries = KEYS[1]
local server_now, logs_kept, skip, limit = unpack(ARGV)

local now = math.min(now_ms(), tonumber(server_now))
local from, to = 0, string.format('%.0f', now)
if logs_kept ~= '' then
  -- An expired item, of which only the log is left, has a negative score.
  from, to = string.format('%.0f', logs_kept - now), '(0'
end
return redis.call('ZRANGE', expiries, from, to, 'BYSCORE', 'LIMIT', skip, limit)
