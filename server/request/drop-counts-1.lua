-- drop-counts
-- KEYS  1 taken counts of a bucket
-- ARGV  1 id of those that were added to the counts of their account
-- Reply 'ok'
if redis.call('HGET', KEYS[1], 'id') == ARGV[1] then
  redis.call('DEL', KEYS[1])
end
return 'ok'
