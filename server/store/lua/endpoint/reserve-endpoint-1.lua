-- reserve-endpoint
-- Reserves an endpoint's id for the creation that is under way; a reservation that is not used runs out.
-- KEYS  1 endpoint
-- ARGV  1 nonce of the creation  2 how long the reservation lasts, ms
-- Reply 'ok' | 'taken'
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 'taken'
end
redis.call('HSET', KEYS[1], 'n', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 'ok'
