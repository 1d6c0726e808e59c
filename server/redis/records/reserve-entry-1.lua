-- reserve-entry
-- Reserves the id of an endpoint or a form for a creation in progress; an unused reservation expires.
-- KEYS  1 endpoint or form
-- ARGV  1 nonce of the creation  2 lifetime of the reservation, ms
-- Reply 'ok' | 'taken'
local object = KEYS[1]
local nonce, lifetime_ms = ARGV[1], ARGV[2]
if redis.call('EXISTS', object) == 1 then
  return 'taken'
end
redis.call('HSET', object, 'n', nonce)
redis.call('PEXPIRE', object, lifetime_ms)
return 'ok'
