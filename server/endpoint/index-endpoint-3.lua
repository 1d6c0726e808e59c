-- index-endpoint
-- Adds an endpoint to the directory of its account, to the live endpoints of its key, and to those by their end.
-- KEYS  1 directory  2 live endpoints of the key  3 long-lived endpoints by their end
-- ARGV  1 entry  2 time of the next check, ms  3 generation  4 end of a long-lived endpoint, ms; empty for others
local entry, check_at, gen, end_at = unpack(ARGV)
redis.call('ZADD', KEYS[1], check_at, entry)
redis.call('ZADD', KEYS[2], gen, entry)
if end_at ~= '' then
  redis.call('ZADD', KEYS[3], end_at, entry)
end
return 'ok'
