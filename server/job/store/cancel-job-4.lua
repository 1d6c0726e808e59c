-- cancel-job
-- Ends a job of which nothing was begun, and removes its request.
-- KEYS  1 job  2 directory of the account's jobs  3 the same job once it has ended  4 directory of jobs that have ended
-- ARGV  1 id  2 sealed report in place of the request  3 ms for which the id stays reserved  4 now in ms
-- Reply 'ok' | 'started' | 'gone'
local id, report, reserved_ms, now_ms = unpack(ARGV)
local have = redis.call('HMGET', KEYS[1], 'p', 'n', 'f', 'w', 'k', 'd')
if not have[1] then
  return 'gone'
end
if have[2] ~= '0' or have[3] ~= '' or have[6] or (have[1] == 'tell' and have[4] ~= 'capture') then
  return 'started'
end
redis.call('HSET', KEYS[1], 'p', have[1] == 'event' and 'event' or 'tell', 'r', report, 'v', 'cancelled', 'z', now_ms)
moveToEnded(id, have[5], reserved_ms, now_ms)
return 'ok'
