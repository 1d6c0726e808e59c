-- delete-csr
-- Deletes a certificate signing request and its private key.
-- KEYS  1 requests  2 keys
-- ARGV  1 id
-- Reply number of deleted requests
local requests, private_keys, id = KEYS[1], KEYS[2], ARGV[1]
redis.call('HDEL', private_keys, id)
return redis.call('HDEL', requests, id)
