-- count-left-out
-- Counts deliveries that a subscription has left out, if it is still paused.
-- KEYS  1 state of the subscriptions
-- ARGV  1 id of the subscription  2 their number
-- Reply 'ok' | 'resumed'
local subscription, count = unpack(ARGV)
if redis.call('HEXISTS', KEYS[1], 'p:' .. subscription) == 0 then
  return 'resumed'
end
redis.call('HINCRBY', KEYS[1], 'l:' .. subscription, count)
return 'ok'
