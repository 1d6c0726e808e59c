-- index-endpoint
-- Enters an endpoint in the directory of its account and among the live ones of its key.
-- KEYS  1 directory  2 live endpoints of the key
-- ARGV  1 entry  2 when to look at it, ms  3 generation
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
return 'ok'
