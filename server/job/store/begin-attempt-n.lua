-- begin-attempt
-- Records an attempt before it is made, if the job has not changed since it was read, and counts it for billing.
-- KEYS  1 job  2 usage hash of the account and month, for a billed attempt
-- ARGV  1 phase, 2 attempts and 3 flight that were read  4 nonce of the attempt  5 operation to count  6 now in ms
--       7 how an attempt in flight ended, see the prelude
-- Reply 'ok' | 'changed'
local phase, made, flight, nonce, operation, now_ms, ended = unpack(ARGV)
local have = redis.call('HMGET', KEYS[1], 'p', 'n', 'f')
-- The same attempt again: the reply to the first call was lost.
if have[3] == nonce then
  return 'ok'
end
if have[1] ~= phase or have[2] ~= made or have[3] ~= flight then
  return 'changed'
end
endOf(KEYS[1], have[1], ended)
redis.call('HSET', KEYS[1], 'n', string.format('%d', have[2] + 1), 'f', nonce, 'b', now_ms)
redis.call('HDEL', KEYS[1], 'x')
if KEYS[2] then
  redis.call('HINCRBY', KEYS[2], operation, 1)
end
return 'ok'
