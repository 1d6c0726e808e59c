-- finish-idempotency
-- Stores the reply of a claimed idempotency key, extends its lease, marks it as sent or not sent, or releases it.
-- KEYS  1 record
-- ARGV  1 seed of the claim  2 'keep' | 'renew' | 'mark' | 'unmark' | 'release'  3 reply, lease ms, or fingerprint of what is sent
--       4 lifetime ms
-- Reply 'ok' | 'lost' | 'again' if it was already marked
local record = KEYS[1]
local seed, action, value, lifetime_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if redis.call('HGET', record, 's') ~= seed or redis.call('HEXISTS', record, 'r') == 1 then
  return 'lost'
end
if action == 'keep' then
  redis.call('HSET', record, 'r', value)
  redis.call('PEXPIRE', record, lifetime_ms)
elseif action == 'renew' then
  local t = redis.call('TIME')
  redis.call('HSET', record, 'u', string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000) + tonumber(value)))
elseif action == 'mark' then
  if redis.call('HSETNX', record, 'o', value) == 0 then
    return 'again'
  end
elseif action == 'unmark' then
  redis.call('HDEL', record, 'o')
else
  redis.call('DEL', record)
end
return 'ok'
