-- remove-account
-- Removes an account if its record is still the one that was read, and records what was removed.
-- KEYS  1 accounts (hash: name -> sealed record)  2 names of deleted accounts (hash: name -> ms)
--       3 deleted accounts whose data may remain (set of ids)
-- ARGV  1 name  2 record that was read  3 id of the account  4 ms
-- Reply 'ok' | 'changed'
local accounts, former, gone = KEYS[1], KEYS[2], KEYS[3]
local name, read, aid, now = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if redis.call('HGET', accounts, name) ~= read then
  return 'changed'
end
redis.call('HSET', former, name, now)
redis.call('SADD', gone, aid)
redis.call('HDEL', accounts, name)
return 'ok'
