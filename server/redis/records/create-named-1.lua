-- create-named
-- Adds a rule, a credential or a connection to an account.
-- KEYS  1 records of its kind (hash: id -> encrypted record)
-- ARGV  1 id  2 encrypted record  3 maximum number of records
-- Reply 'ok' | 'exists' | 'full'
local records = KEYS[1]
local id, record, records_max = ARGV[1], ARGV[2], tonumber(ARGV[3])
if redis.call('HEXISTS', records, id) == 1 then
  return 'exists'
end
if redis.call('HLEN', records) >= records_max then
  return 'full'
end
redis.call('HSET', records, id, record)
return 'ok'
