-- finish-job
-- Moves a job that has ended to those that are only listed. If its creation may be repeated, its id stays reserved for a time.
-- KEYS  1 job  2 directory of the account's jobs  3 the same job once it has ended  4 directory of jobs that have ended
-- ARGV  1 id  2 flight that was read  3 ms for which the id stays reserved  4 now in ms
--       5 '1' if its report was delivered, otherwise ''  6 how the attempt in flight ended, see the prelude
-- Reply 'ok' | 'changed'
local id, flight, reserved_ms, now_ms, delivered, ended = unpack(ARGV)
local have = redis.call('HMGET', KEYS[1], 'f', 'k', 'p')
if have[1] ~= flight then
  return 'changed'
end
endOf(KEYS[1], have[3], ended)
redis.call('HSET', KEYS[1], 'f', '', 'z', now_ms)
redis.call('HDEL', KEYS[1], 'x', 'u')
if delivered == '' then
  redis.call('HSET', KEYS[1], 'u', 1)
end
moveToEnded(id, have[2], reserved_ms, now_ms)
return 'ok'
