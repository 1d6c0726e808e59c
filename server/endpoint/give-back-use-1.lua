-- give-back-use
-- Subtracts a use of an endpoint that had no effect. One of a seed that another run has too, or that is forgotten, stays used.
-- KEYS  1 endpoint
-- ARGV  1 nonce  2 seed of an idempotent request or ''
-- Reply 'ok' | 'gone' | 'used'
local nonce, seed = ARGV[1], ARGV[2]
local have = redis.call('HMGET', KEYS[1], 'n', 'u', 's')
if have[1] ~= nonce or tonumber(have[2] or '0') < 1 then
  return 'gone'
end
if seed ~= '' then
  local seeds = have[3] or ''
  local at = string.find(seeds, seed .. ',', 1, true)
  if not at then
    return 'used'
  end
  redis.call('HSET', KEYS[1], 's', string.sub(seeds, 1, at - 1) .. string.sub(seeds, at + #seed + 1))
end
redis.call('HINCRBY', KEYS[1], 'u', -1)
return 'ok'
