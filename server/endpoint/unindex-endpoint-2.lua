-- unindex-endpoint
-- Removes an endpoint from the directory of its account and from the live endpoints of its key.
-- KEYS  1 directory  2 live endpoints of the key
-- ARGV  1 entry
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
return 'ok'
