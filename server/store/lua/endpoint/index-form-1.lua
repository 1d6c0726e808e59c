-- index-form
-- Enters a form in the directory of its account.
-- KEYS  1 directory
-- ARGV  1 entry  2 when to look at it, ms  3 forms at most
-- Reply 'ok' | 'full'
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) and not redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  return 'full'
end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
return 'ok'
