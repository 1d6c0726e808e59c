-- delete-key
-- Deletes a key record with that of its recovery, and records that its buckets must be purged.
-- KEYS  1 key record  2 directory  3 key ids to purge (set)  4 heads of the account
--       5 recovery record
-- ARGV  1 bytes that were read  2 user  3 key id  4 latest time at which this may happen, ms
--       5 proof that the service deletes the key
-- Reply 'ok' | 'changed' | 'late'
local read, user, kid, act_before, proof = unpack(ARGV)
if redis.call('GET', KEYS[1]) ~= read then
  return 'changed'
end
local t = redis.call('TIME')
if t[1] * 1000 > tonumber(act_before) then
  return 'late'
end
redis.call('SADD', KEYS[3], kid)
redis.call('DEL', KEYS[1], KEYS[5])
redis.call('HSET', KEYS[4], '!' .. kid, proof)
redis.call('ZREM', KEYS[2], user)
return 'ok'
