-- create-job
-- Stores a job in one of its phases, ready for its first attempt.
-- KEYS  1 job (hash: p phase, r sealed record, n attempts made in this phase, f nonce of the attempt in flight or '',
--         o set if an ended attempt may have reached the target, l sealed report of the last reply, k set when its creation may be repeated,
--         i id of its key, w its kind, c creation ms, b begin of the attempt in flight in ms, h and t histories of attempts,
--         x time of the next attempt in ms, v outcome of its request, u set if its report was not delivered, z end in ms,
--         s set of the deliveries that wait for its subscription, of an event)
--       2 directory of the account's jobs
-- ARGV  1 id  2 sealed record  3 creation ms  4 maximum number of jobs  5 '1' if its creation may be repeated, otherwise ''
--       6 id of its key  7 phase  8 kind
-- Reply number of jobs of the account including this one | 'exists' | 'full'
local id, record, now_ms, jobs_max, again, kid, phase, kind = unpack(ARGV)
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 'exists'
end
if redis.call('ZCARD', KEYS[2]) >= tonumber(jobs_max) then
  return 'full'
end
redis.call('HSET', KEYS[1], 'p', phase, 'r', record, 'n', 0, 'f', '', 'i', kid, 'w', kind, 'c', now_ms)
if again == '1' then
  redis.call('HSET', KEYS[1], 'k', 1)
end
redis.call('ZADD', KEYS[2], now_ms, id)
return tostring(redis.call('ZCARD', KEYS[2]))
