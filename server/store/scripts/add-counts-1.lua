-- add-counts
-- KEYS  1 usage hash of an account and month
-- ARGV  pairs: operation, count
for i = 1, #ARGV, 2 do
  redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1])
end
return 'ok'
