-- remove-entry
-- Deletes an object, or the reservation of its id, which releases the id.
-- KEYS  1 object
-- ARGV  1 nonce: another creation under the same id is not touched  2 account id: nor is the object of another account
-- Reply 'ok' | 'gone'
local object = KEYS[1]
local nonce, aid = ARGV[1], ARGV[2]
local have = redis.call('HMGET', object, 'n', 'a')
if have[1] ~= nonce or (have[2] and have[2] ~= aid) then
  return 'gone'
end
redis.call('DEL', object)
return 'ok'
