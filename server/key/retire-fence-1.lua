-- retire-fence
-- Closes a bucket of a deleted key permanently. The fence expires after a day: no process caches the key for longer.
-- KEYS  1 fence
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'c', '9000000000000000')
redis.call('PEXPIRE', KEYS[1], 86400000)
return 'ok'
