-- due-tokens
-- Tokens of a bucket whose time is over by two clocks, that of a server and that of Redis.
-- KEYS  1 expiries
-- ARGV  1 clock of the server, ms  2 '' for items that have expired, or how long, in ms, logs are kept after that, for
--       logs whose time is over as well  3 how many of them to leave out  4 how many to give at most
-- Reply the tokens
local now = math.min(now_ms(), tonumber(ARGV[1]))
local from, to = 0, string.format('%.0f', now)
if ARGV[2] ~= '' then
  -- What has expired and keeps its log alone has its time there negative.
  from, to = string.format('%.0f', ARGV[2] - now), '(0'
end
return redis.call('ZRANGE', KEYS[1], from, to, 'BYSCORE', 'LIMIT', ARGV[3], ARGV[4])
