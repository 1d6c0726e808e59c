-- fold-counts
-- Adds taken counts of buckets to those of their account, and notes their names.
-- KEYS  1 names of the counts that were added last (string), then the usage hash of each month
-- ARGV  1 these names as they were read  2 new names, then for each count: index of its usage hash in KEYS | name | number
-- Reply 'ok' | 'changed', also when the account is deleted
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 'changed'
end
redis.call('SET', KEYS[1], ARGV[2])
for i = 3, #ARGV, 3 do
  -- A count that is damaged must not lose those after it.
  redis.pcall('HINCRBY', KEYS[tonumber(ARGV[i])], ARGV[i + 1], ARGV[i + 2])
end
return 'ok'
