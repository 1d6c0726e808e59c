-- next-events
-- Takes deliveries that wait in store for the queue: as many as it has room for, the oldest first. They count as queued from here on.
-- KEYS  1 state of the subscriptions  2 deliveries that wait for the subscription
-- ARGV  1 id of the subscription  2 deliveries in the queue at once  3 minimum number that is taken, also while its receiver fails
-- Reply their ids
local subscription, window, least = unpack(ARGV)
local room = tonumber(least)
if redis.call('HEXISTS', KEYS[1], 'f:' .. subscription) == 0 then
  room = math.max(room, tonumber(window) - redis.call('ZCOUNT', KEYS[2], '(0', '(1e15'))
end
if room <= 0 then
  return {}
end
local stored = redis.call('ZRANGE', KEYS[2], '(0', '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, room, 'WITHSCORES')
local ids = {}
for i = 1, #stored, 2 do
  ids[#ids + 1] = stored[i]
  redis.call('ZADD', KEYS[2], string.format('%.0f', -tonumber(stored[i + 1])), stored[i])
end
return ids
