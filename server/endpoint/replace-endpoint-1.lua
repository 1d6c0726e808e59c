-- replace-endpoint
-- Puts a new endpoint in the place of the one that has its id.
-- KEYS  1 endpoint
-- ARGV  1 nonce of the one before  2 nonce  3 account  4 policy  5 key wrap
-- Reply 'ok' | 'gone'
local before, nonce, account, policy, wrap = unpack(ARGV)
local have = redis.call('HMGET', KEYS[1], 'n', 'a')
if have[1] ~= before or have[2] ~= account then
  return 'gone'
end
redis.call('HDEL', KEYS[1], 'x', 'u', 'd', 't')
redis.call('HSET', KEYS[1], 'n', nonce, 'p', policy, 'w', wrap)
return 'ok'
