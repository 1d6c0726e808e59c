-- commit-endpoint
-- Turns a reservation into an endpoint.
-- KEYS  1 endpoint (hash: n nonce, a account id, p sealed policy, w sealed wrap until it is stopped,
--         x when it was stopped, ms)
-- ARGV  1 nonce  2 account id  3 policy  4 wrap
-- Reply 'ok' | 'gone' if the reservation has expired or was cancelled
local nonce, aid, policy, wrap = unpack(ARGV)
local have = redis.call('HMGET', KEYS[1], 'n', 'p')
if have[1] ~= nonce then
  return 'gone'
end
if have[2] then
  -- It was already committed. Later changes are kept.
  return 'ok'
end
redis.call('HSET', KEYS[1], 'a', aid, 'p', policy, 'w', wrap)
redis.call('PERSIST', KEYS[1])
return 'ok'
