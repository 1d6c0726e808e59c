-- replace-form
-- Replaces the settings of a form that is still the same one.
-- KEYS  1 form (hash: n nonce, a account id, s encrypted settings)
-- ARGV  1 nonce  2 account id  3 settings
-- Reply 'ok' | 'gone' if it was deleted, even if its id was given to another form since
local form = KEYS[1]
local nonce, aid, settings = ARGV[1], ARGV[2], ARGV[3]
local have = redis.call('HMGET', form, 'n', 'a')
if have[1] ~= nonce or have[2] ~= aid then
  return 'gone'
end
redis.call('HSET', form, 's', settings)
return 'ok'
