-- advance-outbox
-- Removes the first entries of an outbox, unless another server has.
-- KEYS  1 outbox
-- ARGV  1 their number  2 the last of them
-- Reply 'ok' | 'changed'
local count, last = unpack(ARGV)
if redis.call('LINDEX', KEYS[1], tonumber(count) - 1) ~= last then
  return 'changed'
end
redis.call('LTRIM', KEYS[1], count, -1)
return 'ok'
