-- claim-restore
-- Claims an empty Redis for the restore of one backup, or one with an interrupted restore of the same backup.
-- KEYS  1 installation
-- ARGV  1 id of the backup  2 '1' if this Redis is empty, otherwise ''
-- Reply 'ok' | 'again' | 'other' if another backup is being restored | 'taken' if it contains a vault
local backup, is_empty = ARGV[1], ARGV[2] ~= ''
local restoring = redis.call('HGET', KEYS[1], 'restoring')
if restoring then
  return restoring == backup and 'again' or 'other'
end
if not is_empty or redis.call('EXISTS', KEYS[1]) == 1 then
  return 'taken'
end
redis.call('HSET', KEYS[1], 'restoring', backup)
return 'ok'
