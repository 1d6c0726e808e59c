-- commit-form
-- Turns a reservation into a form.
-- KEYS  1 form (hash: n nonce, a account id, s sealed settings)
-- ARGV  1 nonce  2 account id  3 settings
-- Reply 'ok' | 'gone' if the reservation has expired
local have = redis.call('HMGET', KEYS[1], 'n', 's')
if have[1] ~= ARGV[1] then
  return 'gone'
end
if not have[2] then
  redis.call('HSET', KEYS[1], 'a', ARGV[2], 's', ARGV[3])
  redis.call('PERSIST', KEYS[1])
end
return 'ok'
