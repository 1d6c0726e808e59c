-- touch-session
-- Records that a session was used, and from which network.
-- KEYS  1 session (hash: r encrypted record, u last use in ms, n network)
-- ARGV  1 ms now, empty for a use that keeps nothing alive  2 network  3 ms until it has been idle for too long
-- Reply 'ok' | 'moved' if the use before was from another network | 'gone'
local session = KEYS[1]
local now_ms, network, idle_ms = unpack(ARGV)
local have = redis.call('HMGET', session, 'u', 'n')
if not have[1] then
  return 'gone'
end
if now_ms ~= '' and tonumber(have[1]) < tonumber(now_ms) then
  redis.call('HSET', session, 'u', now_ms)
  redis.call('PEXPIRE', session, idle_ms)
end
if have[2] == network then
  return 'ok'
end
redis.call('HSET', session, 'n', network)
return 'moved'
