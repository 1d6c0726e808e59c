-- give-back-guess
-- Subtracts a guess that was not verified; one that had started a lock ends it.
-- KEYS  1 guesses of the source  2 guesses of its network
-- ARGV  1 guesses allowed to a source  2 to a network  3 window ms
-- Reply 'ok'
local allowed, window_ms = { tonumber(ARGV[1]), tonumber(ARGV[2]) }, ARGV[3]
for i, key in ipairs(KEYS) do
  local n = tonumber(redis.call('GET', key) or '0')
  if n > 0 then
    redis.call('DECR', key)
  end
  if n == allowed[i] then
    redis.call('PEXPIRE', key, window_ms)
  end
end
return 'ok'
