-- change-key
-- Replaces a key's record, and records that endpoints of the old passphrase are still to be stopped.
-- KEYS  1 key record  2 changes to finish (set)
-- ARGV  1 bytes that were read  2 new bytes  3 key id and new generation
-- Reply 'ok' | 'changed'
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 'changed'
end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('SADD', KEYS[2], ARGV[3])
return 'ok'
