-- touch-record
-- Records when a credential or a person was there, unless it is gone or a later use is recorded.
-- KEYS  1 the account's records (hash: id -> encrypted record)  2 their last uses (hash: id -> ms)
-- ARGV  1 id  2 ms
-- Reply 'ok' | 'gone'
local records, uses = KEYS[1], KEYS[2]
local id, used_ms = ARGV[1], ARGV[2]
if redis.call('HEXISTS', records, id) == 0 then
  return 'gone'
end
if (tonumber(redis.call('HGET', uses, id) or '') or 0) < tonumber(used_ms) then
  redis.call('HSET', uses, id, used_ms)
end
return 'ok'
