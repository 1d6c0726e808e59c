-- repeat-job
-- Lets the report of a job that has ended be delivered again.
-- KEYS  1 job  2 directory of the account's jobs  3 the same job once it has ended  4 directory of jobs that have ended
-- ARGV  1 id  2 maximum number of jobs  3 now in ms  4 when it ended, as it was read, or ''
-- Reply number of jobs of the account including this one | 'gone' (also if it has ended again since) | 'cancelled' | 'full'
local id, jobs_max, now_ms, ended_ms = unpack(ARGV)
local have = redis.call('HMGET', KEYS[3], 'p', 'v', 'z', 's')
if (have[1] ~= 'tell' and have[1] ~= 'event') or (ended_ms ~= '' and have[3] ~= ended_ms) then
  return 'gone'
end
if have[2] == 'cancelled' then
  return 'cancelled'
end
if redis.call('ZCARD', KEYS[2]) >= tonumber(jobs_max) then
  return 'full'
end
local created = redis.call('ZSCORE', KEYS[4], id) or now_ms
-- A reservation of the id stands in its place.
redis.call('UNLINK', KEYS[1])
redis.call('RENAME', KEYS[3], KEYS[1])
redis.call('HSET', KEYS[1], 'n', 0, 'f', '', 'd', 1)
redis.call('HDEL', KEYS[1], 'z')
redis.call('ZADD', KEYS[2], created, id)
redis.call('ZREM', KEYS[4], id)
if have[4] then
  redis.call('ZADD', have[4], created, id)
end
return tostring(redis.call('ZCARD', KEYS[2]))
