-- give-back-use
-- Subtracts a use of an endpoint that had no effect.
-- KEYS  1 endpoint
-- ARGV  1 nonce
-- Reply 'ok' | 'gone'
local nonce = ARGV[1]
local have = redis.call('HMGET', KEYS[1], 'n', 'u')
if have[1] ~= nonce or tonumber(have[2] or '0') < 1 then
  return 'gone'
end
redis.call('HINCRBY', KEYS[1], 'u', -1)
return 'ok'
