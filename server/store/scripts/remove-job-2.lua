-- Removes a job that is done.
-- KEYS  1 job  2 directory of the account's jobs
-- ARGV  1 id  2 flight that was read
-- Reply 'ok' | 'changed'
if redis.call('HGET', KEYS[1], 'f') ~= ARGV[2] then
  return 'changed'
end
redis.call('UNLINK', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[1])
return 'ok'
