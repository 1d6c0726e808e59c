-- create-sealing-key
-- Stores the sealing key of a day unless there is one, and removes those of days that are over.
-- KEYS  1 sealing keys
-- ARGV  1 day  2 record  3 the oldest day that is kept  4 ms until all expire
-- Reply the record of the day
local stored = redis.call('HGET', KEYS[1], ARGV[1])
if stored then
  return stored
end
for _, day in ipairs(redis.call('HKEYS', KEYS[1])) do
  if tonumber(day) < tonumber(ARGV[3]) then
    redis.call('HDEL', KEYS[1], day)
  end
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return ARGV[2]
