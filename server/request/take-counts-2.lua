-- take-counts
-- Takes the counts of a bucket, to be added to those of its account, unless some are taken already.
-- KEYS  1 counts of the bucket (hash)  2 taken counts (hash, with the field `id`)
-- ARGV  1 id of the counts if they are taken now
-- Reply all fields of the taken counts; empty if there are none
local counts, taken = KEYS[1], KEYS[2]
if redis.call('EXISTS', taken) == 0 then
  if redis.call('EXISTS', counts) == 0 then
    return {}
  end
  redis.call('RENAME', counts, taken)
  redis.call('HSET', taken, 'id', ARGV[1])
end
return redis.call('HGETALL', taken)
