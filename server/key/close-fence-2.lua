-- close-fence
-- Closes a bucket for a limited time for one deletion, and counts its items.
-- KEYS  1 fence  2 time index
-- ARGV  1 duration, ms  2 id of the deletion
-- Reply {items in the bucket, time of closing ms} | {-1} if another deletion has closed it
local duration, deletion = tonumber(ARGV[1]), ARGV[2]
local have = redis.call('HMGET', KEYS[1], 'c', 'o')
local now = now_ms()
if have[1] and now < tonumber(have[1]) and have[2] ~= deletion then
  return { -1 }
end
redis.call('HSET', KEYS[1], 'c', string.format('%.0f', now + duration), 'o', deletion)
return { redis.call('ZCARD', KEYS[2]), string.format('%.0f', now) }
