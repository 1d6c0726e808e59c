-- open-session
-- Stores a session, which Redis removes when it has been idle for too long.
-- KEYS  1 session (hash)
-- ARGV  1 encrypted record  2 ms now  3 network  4 ms until it has been idle for too long
-- Reply 'ok'
local session = KEYS[1]
local record, now_ms, network, idle_ms = unpack(ARGV)
redis.call('HSET', session, 'r', record, 'u', now_ms, 'n', network)
redis.call('PEXPIRE', session, idle_ms)
return 'ok'
