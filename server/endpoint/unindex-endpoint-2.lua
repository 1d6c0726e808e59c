-- unindex-endpoint
-- Removes an endpoint from the directory of its account and from the live endpoints of its key.
-- KEYS  1 directory  2 live endpoints of the key
-- ARGV  1 entry
local entry = ARGV[1]
redis.call('ZREM', KEYS[1], entry)
redis.call('ZREM', KEYS[2], entry)
return 'ok'
