-- delete-csr
-- Deletes a certificate signing request and its private key.
-- KEYS  1 requests  2 keys
-- ARGV  1 id
-- Reply number of deleted requests
redis.call('HDEL', KEYS[2], ARGV[1])
return redis.call('HDEL', KEYS[1], ARGV[1])
