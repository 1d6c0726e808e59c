-- create-csr
-- Stores a certificate signing request and its private key.
-- KEYS  1 requests (hash: id -> sealed request)  2 keys (hash: id -> sealed private key)
-- ARGV  1 id  2 sealed request  3 sealed private key  4 maximum number of requests
-- Reply 'ok' | 'full'
if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[4]) then
  return 'full'
end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 'ok'
