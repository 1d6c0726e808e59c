-- give-back-guess
-- Subtracts a guess that was not verified; one that had started a lock ends it.
-- KEYS  1 guesses of the source  2 guesses of its network
-- ARGV  1 guesses allowed to a source  2 to a network  3 window ms
-- Reply 'ok'
for i = 1, 2 do
  local n = tonumber(redis.call('GET', KEYS[i]) or '0')
  if n > 0 then
    redis.call('DECR', KEYS[i])
  end
  if n == tonumber(ARGV[i]) then
    redis.call('PEXPIRE', KEYS[i], ARGV[3])
  end
end
return 'ok'
