-- index-endpoint
-- Adds an endpoint to the directory of its account and to the live endpoints of its key.
-- KEYS  1 directory  2 live endpoints of the key
-- ARGV  1 entry  2 time of the next check, ms  3 generation
local entry, check_at, gen = unpack(ARGV)
redis.call('ZADD', KEYS[1], check_at, entry)
redis.call('ZADD', KEYS[2], gen, entry)
return 'ok'
