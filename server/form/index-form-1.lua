-- index-form
-- Adds a form to the directory of its account.
-- KEYS  1 directory
-- ARGV  1 entry  2 time of the next check, ms  3 maximum number of forms
-- Reply 'ok' | 'full'
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) and not redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  return 'full'
end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
return 'ok'
