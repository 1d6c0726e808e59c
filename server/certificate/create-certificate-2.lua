-- create-certificate
-- Stores a certificate, if the request that it was issued from still exists.
-- KEYS  1 certificates (hash: id -> sealed certificate)  2 requests
-- ARGV  1 id  2 sealed certificate  3 id of the request  4 maximum number of certificates
-- Reply 'ok' | 'full' | 'missing'
if redis.call('HEXISTS', KEYS[2], ARGV[3]) == 0 then
  return 'missing'
end
if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[4]) then
  return 'full'
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 'ok'
