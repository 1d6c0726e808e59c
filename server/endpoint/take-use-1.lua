-- take-use
-- Counts a use of an endpoint that has a number of uses, before it has its effect.
-- KEYS  1 endpoint
-- ARGV  1 nonce  2 uses allowed  3 now in ms
-- Reply 'ok' | 'last' | 'used_up' | 'gone'
local nonce, uses_max, now_ms = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local have = redis.call('HMGET', KEYS[1], 'n', 'u')
if have[1] ~= nonce then
  return 'gone'
end
if tonumber(have[2] or '0') >= uses_max then
  return 'used_up'
end
if redis.call('HINCRBY', KEYS[1], 'u', 1) < uses_max then
  return 'ok'
end
redis.call('HSET', KEYS[1], 't', now_ms)
return 'last'
