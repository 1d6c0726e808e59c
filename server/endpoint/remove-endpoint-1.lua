-- remove-endpoint
-- Deletes an endpoint, which releases its id.
-- KEYS  1 endpoint
-- ARGV  1 nonce: another creation under the same id is not touched
-- Reply 'ok' | 'gone'
local nonce = ARGV[1]
if redis.call('HGET', KEYS[1], 'n') ~= nonce then
  return 'gone'
end
redis.call('DEL', KEYS[1])
return 'ok'
