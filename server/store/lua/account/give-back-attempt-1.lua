-- give-back-attempt
-- Subtracts an attempt that did not fail.
-- KEYS  1 counter
-- Reply 'ok'
if tonumber(redis.call('GET', KEYS[1]) or '0') > 0 then
  redis.call('DECR', KEYS[1])
end
return 'ok'
