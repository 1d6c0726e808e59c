-- advance-outbox
-- Removes the first entries of an outbox, unless another one has.
-- KEYS  1 outbox
-- ARGV  1 their number  2 the last of them
-- Reply 'ok' | 'changed'
if redis.call('LINDEX', KEYS[1], tonumber(ARGV[1]) - 1) ~= ARGV[2] then
  return 'changed'
end
redis.call('LTRIM', KEYS[1], ARGV[1], -1)
return 'ok'
