-- remove-form
-- Deletes a form, or the reservation of its id, which releases the id.
-- KEYS  1 form
-- ARGV  1 nonce: another creation under the same id is not touched  2 account id: nor is the form of another account
-- Reply 'ok' | 'gone'
local have = redis.call('HMGET', KEYS[1], 'n', 'a')
if have[1] ~= ARGV[1] or (have[2] and have[2] ~= ARGV[2]) then
  return 'gone'
end
redis.call('DEL', KEYS[1])
return 'ok'
