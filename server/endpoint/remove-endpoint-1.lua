-- remove-endpoint
-- Deletes an endpoint, which releases its id.
-- KEYS  1 endpoint
-- ARGV  1 nonce: another creation under the same id is not touched
-- Reply 'ok' | 'gone'
if redis.call('HGET', KEYS[1], 'n') ~= ARGV[1] then
  return 'gone'
end
redis.call('DEL', KEYS[1])
return 'ok'
