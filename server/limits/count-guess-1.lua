-- count-guess
-- Counts a guess at a secret that has not succeeded yet, for its source and for the network of that. A window starts with
-- the first guess; the last one that is allowed starts a lock. A source that had succeeded has a second budget, once.
-- KEYS  1 guesses of the source  2 guesses of its network  3 marker of a source that succeeded
-- ARGV  1 guesses allowed to a source  2 to a network  3 window ms  4 lock ms  5 '1' = without the second budget
-- Reply pair: 0 if the guess may be verified, else ms until the lock ends, negative where the second budget allows it all
--       the same; 1 if the source had succeeded
local function count(key, most)
  local n = redis.call('INCR', key)
  if n == most then
    redis.call('PEXPIRE', key, ARGV[4])
  elseif n == 1 then
    redis.call('PEXPIRE', key, ARGV[3])
  end
end
local own_max, network_max = tonumber(ARGV[1]), tonumber(ARGV[2])
local own = tonumber(redis.call('GET', KEYS[1]) or '0')
local network = tonumber(redis.call('GET', KEYS[2]) or '0')
local succeeded = redis.call('EXISTS', KEYS[3])
local wait = 0
if own >= own_max then
  wait = math.max(redis.call('PTTL', KEYS[1]), 1)
elseif network >= network_max then
  wait = math.max(redis.call('PTTL', KEYS[2]), 1)
end
if wait > 0 and (ARGV[5] == '1' or succeeded == 0 or own >= 2 * own_max) then
  return {wait, succeeded}
end
count(KEYS[1], own_max)
count(KEYS[2], network_max)
return {-wait, succeeded}
