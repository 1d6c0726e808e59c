-- create-named
-- Adds a rule, a credential or a connection to an account.
-- KEYS  1 records of its kind (hash: id -> sealed record)
-- ARGV  1 id  2 sealed record  3 maximum number of records
-- Reply 'ok' | 'exists' | 'full'
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  return 'exists'
end
if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then
  return 'full'
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 'ok'
