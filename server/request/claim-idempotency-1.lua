-- claim-idempotency
-- Claims an idempotency key, or reports its state.
-- KEYS  1 record (hash: f fingerprint, u lease end ms, s seed, a account id, o fingerprint of what was sent, r reply)
-- ARGV  1 fingerprint  2 lease ms  3 seed for a first attempt  4 lifetime ms  5 account id
-- Reply {'mine', seed, fingerprint of what was sent or ''} | {'done', reply, seed} | {'busy'} | {'other'}
local have = redis.call('HMGET', KEYS[1], 'f', 'u', 's', 'r', 'o')
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if have[1] then
  if have[1] ~= ARGV[1] then
    return { 'other' }
  end
  if have[4] then
    return { 'done', have[4], have[3] }
  end
  if now < tonumber(have[2]) then
    return { 'busy' }
  end
else
  redis.call('HSET', KEYS[1], 'f', ARGV[1], 's', ARGV[3], 'a', ARGV[5])
end
redis.call('HSET', KEYS[1], 'u', string.format('%.0f', now + tonumber(ARGV[2])))
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return { 'mine', have[3] or ARGV[3], have[5] or '' }
