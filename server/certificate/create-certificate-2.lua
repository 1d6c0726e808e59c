-- create-certificate
-- Adds a certificate if the request that it was issued from still exists.
-- KEYS  1 certificates (hash: id -> encrypted certificate)  2 requests
-- ARGV  1 id  2 encrypted certificate  3 id of the request  4 maximum number of certificates
-- Reply 'ok' | 'full' | 'missing'
local certificates, requests = KEYS[1], KEYS[2]
local id, certificate, request_id, certificates_max = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
if redis.call('HEXISTS', requests, request_id) == 0 then
  return 'missing'
end
if redis.call('HLEN', certificates) >= certificates_max then
  return 'full'
end
redis.call('HSET', certificates, id, certificate)
return 'ok'
