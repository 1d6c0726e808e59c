-- trim-jobs
-- Removes jobs that ended before a time, among the oldest ones.
-- KEYS  1 directory of the account's jobs that have ended
-- ARGV  1 key prefix of these jobs (in the account's hash tag)  2 time in ms  3 maximum number of jobs to read
--       4 position of the first one
-- Reply {number of jobs read, number of those that stay}
local prefix, before_ms, jobs_max, first = unpack(ARGV)
local ids = redis.call('ZRANGE', KEYS[1], '-inf', '(' .. before_ms, 'BYSCORE', 'LIMIT', first, jobs_max)
local kept = 0
for _, id in ipairs(ids) do
  local ended = redis.call('HGET', prefix .. id, 'z')
  if ended and tonumber(ended) and tonumber(ended) >= tonumber(before_ms) then
    kept = kept + 1
  else
    redis.call('UNLINK', prefix .. id)
    redis.call('ZREM', KEYS[1], id)
  end
end
return { #ids, kept }
