-- index-form
-- Adds a form to the directory of its account.
-- KEYS  1 directory
-- ARGV  1 entry  2 time of the next check, ms  3 maximum number of forms
-- Reply 'ok' | 'full'
local directory = KEYS[1]
local entry, check_at, forms_max = ARGV[1], ARGV[2], tonumber(ARGV[3])
if redis.call('ZCARD', directory) >= forms_max and not redis.call('ZSCORE', directory, entry) then
  return 'full'
end
redis.call('ZADD', directory, check_at, entry)
return 'ok'
