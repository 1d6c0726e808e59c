-- Turns a reservation into an endpoint.
-- KEYS  1 endpoint (hash: n nonce, a account id, g generation, p sealed policy, w sealed wrap until it
--         is stopped, x when it was stopped, ms)
-- ARGV  1 nonce  2 account id  3 generation  4 policy  5 wrap
-- Reply 'ok' | 'gone' when the reservation has run out or was taken back
if redis.call('HGET', KEYS[1], 'n') ~= ARGV[1] then
  return 'gone'
end
redis.call('HSET', KEYS[1], 'a', ARGV[2], 'g', ARGV[3], 'p', ARGV[4], 'w', ARGV[5])
redis.call('PERSIST', KEYS[1])
return 'ok'
