-- create-csr
-- Adds a certificate signing request and its private key.
-- KEYS  1 requests (hash: id -> encrypted request)  2 keys (hash: id -> encrypted private key)
-- ARGV  1 id  2 encrypted request  3 encrypted private key  4 maximum number of requests
-- Reply 'ok' | 'full'
local requests, private_keys = KEYS[1], KEYS[2]
local id, request, private_key, requests_max = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
if redis.call('HLEN', requests) >= requests_max then
  return 'full'
end
redis.call('HSET', private_keys, id, private_key)
redis.call('HSET', requests, id, request)
return 'ok'
