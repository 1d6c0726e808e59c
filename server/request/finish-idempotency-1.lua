-- finish-idempotency
-- Stores the reply of a claimed idempotency key, renews its lease, marks it as sent or not sent, or releases it.
-- KEYS  1 record
-- ARGV  1 seed of the claim  2 'keep' | 'renew' | 'mark' | 'unmark' | 'release'  3 reply, lease ms, or fingerprint of what is sent
--       4 lifetime ms
-- Reply 'ok' | 'lost' | 'again' if it was already marked
if redis.call('HGET', KEYS[1], 's') ~= ARGV[1] or redis.call('HEXISTS', KEYS[1], 'r') == 1 then
  return 'lost'
end
if ARGV[2] == 'keep' then
  redis.call('HSET', KEYS[1], 'r', ARGV[3])
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
elseif ARGV[2] == 'renew' then
  local t = redis.call('TIME')
  redis.call('HSET', KEYS[1], 'u', string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000) + tonumber(ARGV[3])))
elseif ARGV[2] == 'mark' then
  if redis.call('HSETNX', KEYS[1], 'o', ARGV[3]) == 0 then
    return 'again'
  end
elseif ARGV[2] == 'unmark' then
  redis.call('HDEL', KEYS[1], 'o')
else
  redis.call('DEL', KEYS[1])
end
return 'ok'
