-- index-endpoint
-- Adds an endpoint to the directory of its account and to the live endpoints of its key.
-- KEYS  1 directory  2 live endpoints of the key
-- ARGV  1 entry  2 time of the next check, ms  3 generation
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
return 'ok'
