-- unindex-endpoint
-- Removes an endpoint from the directory of its account, from the live endpoints of its key, and from those by their end.
-- KEYS  1 directory  2 live endpoints of the key  3 long-lived endpoints by their end
-- ARGV  1 entry
local entry = ARGV[1]
redis.call('ZREM', KEYS[1], entry)
redis.call('ZREM', KEYS[2], entry)
redis.call('ZREM', KEYS[3], entry)
return 'ok'
