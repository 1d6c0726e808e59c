-- count-guess
-- Counts a guess at a secret that has not succeeded yet, for its source and for the network of that. A window starts with
-- the first guess; the last one that is allowed starts a lock. A source that had succeeded has a second budget, once.
-- KEYS  1 guesses of the source  2 guesses of its network  3 marker of a source that succeeded
-- ARGV  1 guesses allowed to a source  2 to a network  3 window ms  4 lock ms  5 '1' = without the second budget
-- Reply pair: 0 if the guess may be verified, else ms until the lock ends, negative where the second budget allows it all
--       the same; 1 if the source had succeeded
local own_key, network_key, success_key = KEYS[1], KEYS[2], KEYS[3]
local own_max, network_max = tonumber(ARGV[1]), tonumber(ARGV[2])
local window_ms, lock_ms, is_strict = ARGV[3], ARGV[4], ARGV[5] == '1'
local function count(key, most)
  local n = redis.call('INCR', key)
  if n == most then
    redis.call('PEXPIRE', key, lock_ms)
  elseif n == 1 then
    redis.call('PEXPIRE', key, window_ms)
  end
end
local own = tonumber(redis.call('GET', own_key) or '0')
local network = tonumber(redis.call('GET', network_key) or '0')
local succeeded = redis.call('EXISTS', success_key)
local wait = 0
if own >= own_max then
  wait = math.max(redis.call('PTTL', own_key), 1)
elseif network >= network_max then
  wait = math.max(redis.call('PTTL', network_key), 1)
end
if wait > 0 and (is_strict or succeeded == 0 or own >= 2 * own_max) then
  return {wait, succeeded}
end
count(own_key, own_max)
count(network_key, network_max)
return {-wait, succeeded}
