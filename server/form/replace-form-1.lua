-- replace-form
-- Replaces the settings of a form that is still the same one.
-- KEYS  1 form (hash: n nonce, a account id, s sealed settings)
-- ARGV  1 nonce  2 account id  3 settings
-- Reply 'ok' | 'gone' if it was deleted, also when its id was given to another one since
local have = redis.call('HMGET', KEYS[1], 'n', 'a')
if have[1] ~= ARGV[1] or have[2] ~= ARGV[2] then
  return 'gone'
end
redis.call('HSET', KEYS[1], 's', ARGV[3])
return 'ok'
