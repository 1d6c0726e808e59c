-- add-counts
-- KEYS  1 usage hash of an account and month
-- ARGV  pairs: operation, count
-- Reply 'ok'
-- A negative count is not added to a missing hash: it would create the hash again after its account was deleted.
local is_new = redis.call('EXISTS', KEYS[1]) == 0
for i = 1, #ARGV, 2 do
  if not (is_new and tonumber(ARGV[i + 1]) < 0) then
    redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
return 'ok'
