-- create-events
-- Stores deliveries of events in their only phase, ready for the first attempt, and removes the oldest of those that have ended.
-- Beyond what the queue has of a subscription at once they wait in store, with a negative score.
-- KEYS  1 state of the subscriptions  2 directory of the account's deliveries  3 directory of those that have ended
-- ARGV  1 now in ms  2 maximum number that waits for a subscription  3 maximum number that has ended
--       4 deliveries of a subscription in the queue at once  5 the same while its receiver fails
--       6 key prefix of deliveries  7 the same of those that have ended  8 the same of the sets of those that wait (all in the
--       account's hash tag), then for each: id, id of its subscription, sealed record
-- Reply for each its place in the queue, 0 if it waits in store or is stored already, -1 if it was left out, -2 if its subscription is
-- also paused by it
local now_ms, waiting_max, ended_max, window, failing_window = unpack(ARGV, 1, 5)
local prefix, ended_prefix, waiting_prefix = unpack(ARGV, 6, 8)
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

for i = 9, #ARGV, 3 do
  local id, subscription, record = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local job, waiting = prefix .. id, waiting_prefix .. subscription
  local place = 0
  if call('EXISTS', job, ended_prefix .. id) == 0 then
    local count = call('ZCARD', waiting)
    if call('HEXISTS', state, 'p:' .. subscription) == 1 then
      place = -1
    elseif count >= tonumber(waiting_max) then
      call('HSET', state, 'p:' .. subscription, now_ms, 'w:' .. subscription, 'full')
      place = -2
    else
      call('HSET', job, 'p', 'event', 'r', record, 'n', 0, 'f', '', 'i', '', 'w', 'event', 'c', now_ms, 's', waiting)
      call('ZADD', directory, now_ms, id)
      local failing = call('HEXISTS', state, 'f:' .. subscription) == 1
      -- Where it answers, one that was called and is called again later takes no room from others.
      local queued = call('ZCOUNT', waiting, '(0', failing and '+inf' or '(1e15')
      if queued < tonumber(failing and failing_window or window) then
        call('ZADD', waiting, now_ms, id)
        place = queued + 1
      else
        call('ZADD', waiting, '-' .. now_ms, id)
      end
    end
  end
  out[#out + 1] = place
end
return out
