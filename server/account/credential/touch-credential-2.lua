-- touch-credential
-- Notes when a credential was used, unless it is gone or a later use is noted.
-- KEYS  1 the account's credentials (hash: id -> sealed record)  2 their last uses (hash: id -> ms)
-- ARGV  1 id  2 ms
-- Reply 'ok' | 'gone'
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 'gone'
end
if (tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or '') or 0) < tonumber(ARGV[2]) then
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
end
return 'ok'
