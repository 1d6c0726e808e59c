-- take-use
-- Counts a use of an endpoint that has a number of uses, before it has its effect.
-- KEYS  1 endpoint
-- ARGV  1 nonce  2 uses allowed
-- Reply 'ok' | 'used_up' | 'gone'
local nonce, uses_max = ARGV[1], tonumber(ARGV[2])
local have = redis.call('HMGET', KEYS[1], 'n', 'u')
if have[1] ~= nonce then
  return 'gone'
end
if tonumber(have[2] or '0') >= uses_max then
  return 'used_up'
end
redis.call('HINCRBY', KEYS[1], 'u', 1)
return 'ok'
