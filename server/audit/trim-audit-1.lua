-- trim-audit
-- Removes the oldest entries of a security log and stores the new start.
-- KEYS  1 chain
-- ARGV  1 start that was read, '' for none  2 new start  3 first and 4 last sequence to remove
-- Reply 'ok' | 'changed'
local chain = KEYS[1]
local read, start, first, last = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
if (redis.call('HGET', chain, 'o') or '') ~= read then
  return 'changed'
end
redis.call('HSET', chain, 'o', start)
for sequence = first, last do
  redis.call('HDEL', chain, string.format('%d', sequence))
end
return 'ok'
