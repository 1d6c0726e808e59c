-- trim-jobs
-- Removes jobs that ended before a time, among the oldest ones.
-- KEYS  1 directory of the account's jobs that have ended
-- ARGV  1 key prefix of these jobs (in the account's hash tag)  2 time in ms  3 maximum number of jobs to look at
--       4 position of the first one
-- Reply {number of jobs that were looked at, number of those that stay}
local ids = redis.call('ZRANGE', KEYS[1], '-inf', '(' .. ARGV[2], 'BYSCORE', 'LIMIT', ARGV[4], ARGV[3])
local kept = 0
for _, id in ipairs(ids) do
  local ended = redis.call('HGET', ARGV[1] .. id, 'z')
  if ended and tonumber(ended) and tonumber(ended) >= tonumber(ARGV[2]) then
    kept = kept + 1
  else
    redis.call('UNLINK', ARGV[1] .. id)
    redis.call('ZREM', KEYS[1], id)
  end
end
return { #ids, kept }
