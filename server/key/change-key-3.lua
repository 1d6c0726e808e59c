-- change-key
-- Replaces a key's record together with that of its recovery. For a new generation it records that endpoints of the old
-- passphrase are still to be stopped.
-- KEYS  1 key record  2 changes to finish (set)  3 recovery record
-- ARGV  1 bytes of the key that were read  2 new bytes  3 key id and new generation, or '' for the same generation
--       4 bytes of the recovery that were read, or '' for none  5 new bytes, or '' for none
-- Reply 'ok' | 'changed'
local read_key, new_key, change, read_recovery, new_recovery = unpack(ARGV)
if redis.call('GET', KEYS[1]) ~= read_key or (redis.call('GET', KEYS[3]) or '') ~= read_recovery then
  return 'changed'
end
redis.call('SET', KEYS[1], new_key)
if new_recovery == '' then
  redis.call('DEL', KEYS[3])
else
  redis.call('SET', KEYS[3], new_recovery)
end
if change ~= '' then
  redis.call('SADD', KEYS[2], change)
end
return 'ok'
