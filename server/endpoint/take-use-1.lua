-- take-use
-- Counts a use of an endpoint that has a number of uses, before it has its effect. A request that is repeated since its reply was
-- lost has the use that it had.
-- KEYS  1 endpoint
-- ARGV  1 nonce  2 uses allowed  3 now in ms  4 seed of an idempotent request or ''
-- Reply 'ok' | 'last' | 'again' | 'used_up' | 'gone'
local nonce, uses_max, now_ms, seed = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local have = redis.call('HMGET', KEYS[1], 'n', 'u', 's')
local seeds = have[3] or ''
if have[1] ~= nonce then
  return 'gone'
end
local at = seed ~= '' and string.find(seeds, seed, 1, true)
if at then
  -- Two runs have it from here on: what fails in one may have been done in the other.
  redis.call('HSET', KEYS[1], 's', string.sub(seeds, 1, at + #seed - 1) .. '!' .. string.sub(seeds, at + #seed + 1))
  return 'again'
end
if tonumber(have[2] or '0') >= uses_max then
  return 'used_up'
end
if seed ~= '' then
  -- The last eight seeds: a request that is repeated after more uses than that is another use.
  redis.call('HSET', KEYS[1], 's', string.sub(seeds .. seed .. ',', -8 * (#seed + 1)))
end
if redis.call('HINCRBY', KEYS[1], 'u', 1) < uses_max then
  return 'ok'
end
redis.call('HSET', KEYS[1], 't', now_ms)
return 'last'
