-- create-events
-- Stores deliveries of events in their only phase, ready for the first attempt, and removes the oldest of those that have ended.
-- KEYS  1 state of the subscriptions  2 directory of the account's deliveries  3 directory of those that have ended
-- ARGV  1 now in ms  2 maximum number that waits for a subscription  3 maximum number that has ended
--       4 key prefix of deliveries  5 the same of those that have ended  6 the same of the sets of those that wait (all in the
--       account's hash tag), then for each: id, id of its subscription, sealed record
-- Reply for each the number that waits for its subscription, 0 if it was left out or is stored already, -1 if its subscription is
-- paused by it
local now_ms, waiting_max, ended_max, prefix, ended_prefix, waiting_prefix = unpack(ARGV, 1, 6)
local state, directory, ended_directory = unpack(KEYS)
local call, out = redis.call, {}

local over = call('ZCARD', ended_directory) - tonumber(ended_max)
if over > 0 then
  local oldest = call('ZRANGE', ended_directory, 0, math.min(over, 500) - 1)
  for _, id in ipairs(oldest) do
    call('UNLINK', ended_prefix .. id)
  end
  call('ZREM', ended_directory, unpack(oldest))
end

for i = 7, #ARGV, 3 do
  local id, subscription, record = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local job, waiting = prefix .. id, waiting_prefix .. subscription
  local place = 0
  if call('EXISTS', job, ended_prefix .. id) == 0 then
    local count = call('ZCARD', waiting)
    if call('HEXISTS', state, 'p:' .. subscription) == 1 then
      call('HINCRBY', state, 'l:' .. subscription, 1)
    elseif count >= tonumber(waiting_max) then
      call('HSET', state, 'p:' .. subscription, now_ms, 'w:' .. subscription, 'full')
      call('HINCRBY', state, 'l:' .. subscription, 1)
      place = -1
    else
      call('HSET', job, 'p', 'event', 'r', record, 'n', 0, 'f', '', 'i', '', 'w', 'event', 'c', now_ms, 's', waiting)
      call('ZADD', directory, now_ms, id)
      call('ZADD', waiting, now_ms, id)
      place = count + 1
    end
  end
  out[#out + 1] = place
end
return out
