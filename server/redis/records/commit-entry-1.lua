-- commit-entry
-- Turns a reservation into an object of an account.
-- KEYS  1 object (hash: n nonce, a account id, and the fields of its kind)
-- ARGV  1 nonce  2 account id  3... fields with their values
-- Reply 'ok' | 'gone' if the reservation has expired or was cancelled
local object = KEYS[1]
local nonce, aid = ARGV[1], ARGV[2]
local have = redis.call('HMGET', object, 'n', 'a')
if have[1] ~= nonce then
  return 'gone'
end
if not have[2] then
  -- Of an object that was already committed, later changes are kept.
  redis.call('HSET', object, 'a', aid, unpack(ARGV, 3))
  redis.call('PERSIST', object)
end
return 'ok'
