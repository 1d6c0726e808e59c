-- trim-audit
-- Removes the oldest entries of a security log and stores the new start.
-- KEYS  1 chain
-- ARGV  1 start that was read, '' for none  2 new start  3 first and 4 last sequence to remove
-- Reply 'ok' | 'changed'
if (redis.call('HGET', KEYS[1], 'o') or '') ~= ARGV[1] then
  return 'changed'
end
redis.call('HSET', KEYS[1], 'o', ARGV[2])
for sequence = tonumber(ARGV[3]), tonumber(ARGV[4]) do
  redis.call('HDEL', KEYS[1], string.format('%d', sequence))
end
return 'ok'
