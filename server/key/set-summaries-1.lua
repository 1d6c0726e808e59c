-- set-summaries
-- Makes writers fail that take the key of this bucket to have summaries where it has none, or none where it has them.
-- KEYS  1 fence
-- ARGV  1 '1' with summaries, '0' without
-- Reply 'ok'
redis.call('HSET', KEYS[1], 's', ARGV[1])
return 'ok'
