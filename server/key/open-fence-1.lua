-- open-fence
-- Opens a bucket if this deletion has closed it.
-- KEYS  1 fence
-- ARGV  1 id of the deletion
local deletion = ARGV[1]
if redis.call('HGET', KEYS[1], 'o') == deletion then
  redis.call('HDEL', KEYS[1], 'c', 'o')
end
return 'ok'
