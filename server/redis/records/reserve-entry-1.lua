-- reserve-entry
-- Reserves the id of an endpoint for a creation in progress; an unused reservation expires.
-- KEYS  1 endpoint
-- ARGV  1 nonce of the creation  2 lifetime of the reservation, ms
-- Reply 'ok' | 'taken'
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 'taken'
end
redis.call('HSET', KEYS[1], 'n', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 'ok'
