-- create-sealing-key
-- Stores the sealing key of a day unless there is one, and removes those of days that are over.
-- KEYS  1 sealing keys
-- ARGV  1 day  2 record  3 the oldest day that is kept  4 ms until all expire
-- Reply the record of the day
local day, record, oldest, expires_ms = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local stored = redis.call('HGET', KEYS[1], day)
if stored then
  return stored
end
for _, other in ipairs(redis.call('HKEYS', KEYS[1])) do
  if tonumber(other) < oldest then
    redis.call('HDEL', KEYS[1], other)
  end
end
redis.call('HSET', KEYS[1], day, record)
redis.call('PEXPIRE', KEYS[1], expires_ms)
return record
