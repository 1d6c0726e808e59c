-- open-fence
-- Opens a bucket that this deletion has closed, and no other.
-- KEYS  1 fence
-- ARGV  1 id of the deletion
if redis.call('HGET', KEYS[1], 'o') == ARGV[1] then
  redis.call('HDEL', KEYS[1], 'c', 'o')
end
return 'ok'
