-- bury-fence
-- Closes a bucket of a deleted key for good. The mark stays for a day: nothing that knew the key lives longer.
-- KEYS  1 fence
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'c', '9000000000000000')
redis.call('PEXPIRE', KEYS[1], 86400000)
return 'ok'
