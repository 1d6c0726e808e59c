-- change-key
-- Replaces a key's record together with that of its recovery. For a new generation it records that endpoints of the old
-- passphrase are still to be stopped.
-- KEYS  1 key record  2 changes to finish (set)  3 recovery record
-- ARGV  1 bytes of the key that were read  2 new bytes  3 key id and new generation, or '' for the same generation
--       4 bytes of the recovery that were read, or '' for none  5 new bytes, or '' for none
-- Reply 'ok' | 'changed'
if redis.call('GET', KEYS[1]) ~= ARGV[1] or (redis.call('GET', KEYS[3]) or '') ~= ARGV[4] then
  return 'changed'
end
redis.call('SET', KEYS[1], ARGV[2])
if ARGV[5] == '' then
  redis.call('DEL', KEYS[3])
else
  redis.call('SET', KEYS[3], ARGV[5])
end
if ARGV[3] ~= '' then
  redis.call('SADD', KEYS[2], ARGV[3])
end
return 'ok'
