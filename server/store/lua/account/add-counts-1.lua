-- add-counts
-- KEYS  1 usage hash of an account and month
-- ARGV  pairs: operation, count
-- What is taken back from a hash that is gone would make it anew: its account was deleted meanwhile.
local is_new = redis.call('EXISTS', KEYS[1]) == 0
for i = 1, #ARGV, 2 do
  if not (is_new and tonumber(ARGV[i + 1]) < 0) then
    redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
return 'ok'
