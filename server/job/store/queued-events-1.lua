-- queued-events
-- Selects those of some deliveries that the queue must have: all but those that wait in store for a subscription.
-- KEYS  1 subscriptions of the account
-- ARGV  1 key prefix of deliveries  2 the same of the sets of those that wait (both in the account's hash tag)  3... ids
-- Reply their ids
local prefix, waiting_prefix = ARGV[1], ARGV[2]
local out = {}
for i = 3, #ARGV do
  local waiting = redis.call('HGET', prefix .. ARGV[i], 's')
  local score = waiting and redis.call('ZSCORE', waiting, ARGV[i])
  local is_stored = score and tonumber(score) < 0
  -- Those of a subscription that is gone end as soon as they run.
  if not is_stored or redis.call('HEXISTS', KEYS[1], string.sub(waiting, #waiting_prefix + 1)) == 0 then
    out[#out + 1] = ARGV[i]
  end
end
return out
