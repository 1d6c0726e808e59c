-- claim-installation
-- Stores the facts of a new vault, unless a restore is in progress. Existing facts are kept.
-- KEYS  1 installation (hash: buckets, root, restoring id of the backup that is being restored)
-- ARGV  1 buckets  2 sealed root
-- Reply 'ok' | 'restoring'
local buckets, root = unpack(ARGV)
if redis.call('HEXISTS', KEYS[1], 'restoring') == 1 then
  return 'restoring'
end
redis.call('HSETNX', KEYS[1], 'buckets', buckets)
redis.call('HSETNX', KEYS[1], 'root', root)
return 'ok'
