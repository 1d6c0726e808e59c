-- remove-job
-- Removes a job whose key or account is gone. If its creation may be repeated, its id stays reserved for a time.
-- KEYS  1 job  2 directory of the account's jobs
-- ARGV  1 id  2 flight that was read  3 ms for which the id stays reserved
-- Reply 'ok' | 'changed'
local id, flight, reserved_ms = unpack(ARGV)
local have = redis.call('HMGET', KEYS[1], 'f', 'k', 's')
if have[1] ~= flight then
  return 'changed'
end
redis.call('UNLINK', KEYS[1])
if have[2] then
  redis.call('HSET', KEYS[1], 'k', 1)
  redis.call('PEXPIRE', KEYS[1], reserved_ms)
end
redis.call('ZREM', KEYS[2], id)
if have[3] then
  redis.call('ZREM', have[3], id)
end
return 'ok'
