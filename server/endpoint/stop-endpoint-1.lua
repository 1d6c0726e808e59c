-- stop-endpoint
-- Removes the key wrap of an endpoint; the policy is kept, so that a request with the right secret gets
-- `endpoint_gone`. An unfinished creation is cancelled.
-- KEYS  1 endpoint
-- ARGV  1 nonce
-- Reply 'ok' | 'gone'
local nonce = ARGV[1]
local have = redis.call('HMGET', KEYS[1], 'n', 'p', 'x')
if have[1] ~= nonce then
  return 'gone'
end
if not have[2] then
  redis.call('DEL', KEYS[1])
elseif not have[3] then
  local t = redis.call('TIME')
  redis.call('HDEL', KEYS[1], 'w')
  redis.call('HSET', KEYS[1], 'x', string.format('%.0f', t[1] * 1000))
end
return 'ok'
