-- commit-form
-- Turns a reservation into a form.
-- KEYS  1 form (hash: n nonce, a account id, s encrypted settings)
-- ARGV  1 nonce  2 account id  3 settings
-- Reply 'ok' | 'gone' if the reservation has expired
local form = KEYS[1]
local nonce, aid, settings = ARGV[1], ARGV[2], ARGV[3]
local have = redis.call('HMGET', form, 'n', 's')
if have[1] ~= nonce then
  return 'gone'
end
if not have[2] then
  redis.call('HSET', form, 'a', aid, 's', settings)
  redis.call('PERSIST', form)
end
return 'ok'
