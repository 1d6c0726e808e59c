-- end-use
-- Counts a use that had its effect. The one that completes all of them has the reply `used_up`.
-- KEYS  1 endpoint
-- ARGV  1 nonce  2 uses allowed
-- Reply 'ok' | 'used_up' | 'gone'
local nonce, uses_max = ARGV[1], tonumber(ARGV[2])
local have = redis.call('HMGET', KEYS[1], 'n', 'd')
if have[1] ~= nonce then
  return 'gone'
end
if have[2] == 'told' or redis.call('HINCRBY', KEYS[1], 'd', 1) ~= uses_max then
  return 'ok'
end
return 'used_up'
