-- remove-form
-- Deletes a form, or the reservation of its id, which releases the id.
-- KEYS  1 form
-- ARGV  1 nonce: another creation under the same id is not touched  2 account id: nor is the form of another account
-- Reply 'ok' | 'gone'
local form = KEYS[1]
local nonce, aid = ARGV[1], ARGV[2]
local have = redis.call('HMGET', form, 'n', 'a')
if have[1] ~= nonce or (have[2] and have[2] ~= aid) then
  return 'gone'
end
redis.call('DEL', form)
return 'ok'
