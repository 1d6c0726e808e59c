-- add-counts
-- KEYS  1 usage hash of an account and month
-- ARGV  pairs: operation, count
-- Reply 'ok'
-- A negative count is not added to a missing hash: it would create the hash again after its account was deleted.
local usage = KEYS[1]
local is_new = redis.call('EXISTS', usage) == 0
for i = 1, #ARGV, 2 do
  local operation, count = ARGV[i], ARGV[i + 1]
  if not (is_new and tonumber(count) < 0) then
    redis.call('HINCRBY', usage, operation, count)
  end
end
return 'ok'
