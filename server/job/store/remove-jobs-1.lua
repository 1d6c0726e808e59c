-- remove-jobs
-- Removes some jobs of an account; call it until it replies 0.
-- KEYS  1 directory of the account's jobs
-- ARGV  1 job key prefix (in the account's hash tag)  2 maximum number of jobs
-- Reply number of removed jobs
local prefix, jobs_max = unpack(ARGV)
local ids = redis.call('ZRANGE', KEYS[1], 0, tonumber(jobs_max) - 1)
for i = 1, #ids do
  redis.call('UNLINK', prefix .. ids[i])
end
if #ids > 0 then
  redis.call('ZREMRANGEBYRANK', KEYS[1], 0, #ids - 1)
end
return #ids
