-- Closes a bucket for a while, and tells what it holds.
-- KEYS  1 fence  2 time index
-- ARGV  1 how long, ms
-- Reply {items in the bucket, time of closing ms}
local now = now_ms()
redis.call('HSET', KEYS[1], 'c', string.format('%.0f', now + tonumber(ARGV[1])))
return { redis.call('ZCARD', KEYS[2]), string.format('%.0f', now) }
