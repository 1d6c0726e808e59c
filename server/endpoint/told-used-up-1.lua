-- told-used-up
-- Notes that the event of a used-up endpoint was announced.
-- KEYS  1 endpoint
-- ARGV  1 nonce
-- Reply 'ok' | 'gone'
if redis.call('HGET', KEYS[1], 'n') ~= ARGV[1] then
  return 'gone'
end
redis.call('HSET', KEYS[1], 'd', 'told')
return 'ok'
