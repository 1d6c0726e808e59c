-- note-end
-- Adds an endpoint to those by their end if the directory has it still.
-- KEYS  1 directory  2 long-lived endpoints by their end
-- ARGV  1 entry  2 end, ms
local entry, end_at = unpack(ARGV)
if redis.call('ZSCORE', KEYS[1], entry) then
  redis.call('ZADD', KEYS[2], end_at, entry)
end
return 'ok'
