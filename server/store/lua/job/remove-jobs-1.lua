-- remove-jobs
-- Removes a part of an account's jobs; call it until it replies 0.
-- KEYS  1 directory of the account's jobs
-- ARGV  1 job key prefix (in the account's hash tag)  2 jobs at most
-- Reply jobs removed
local ids = redis.call('ZRANGE', KEYS[1], 0, tonumber(ARGV[2]) - 1)
for i = 1, #ids do
  redis.call('UNLINK', ARGV[1] .. ids[i])
end
if #ids > 0 then
  redis.call('ZREMRANGEBYRANK', KEYS[1], 0, #ids - 1)
end
return #ids
