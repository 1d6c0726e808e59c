-- claim-idempotency
-- Claims an idempotency key, or reports its state.
-- KEYS  1 record (hash: f fingerprint, u lease end ms, s seed, a account id, o fingerprint of what was sent, r reply)
-- ARGV  1 fingerprint  2 lease ms  3 seed for a first attempt  4 lifetime ms  5 account id
-- Reply {'mine', seed, fingerprint of what was sent or ''} | {'done', reply, seed} | {'busy'} | {'other'}
local record = KEYS[1]
local fingerprint, lease_ms, new_seed, lifetime_ms, account = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local have = redis.call('HMGET', record, 'f', 'u', 's', 'r', 'o')
local stored_fingerprint, lease_end, seed, reply, sent = have[1], have[2], have[3], have[4], have[5]
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if stored_fingerprint then
  if stored_fingerprint ~= fingerprint then
    return { 'other' }
  end
  if reply then
    return { 'done', reply, seed }
  end
  if now < tonumber(lease_end) then
    return { 'busy' }
  end
else
  redis.call('HSET', record, 'f', fingerprint, 's', new_seed, 'a', account)
end
redis.call('HSET', record, 'u', string.format('%.0f', now + lease_ms))
redis.call('PEXPIRE', record, lifetime_ms)
return { 'mine', seed or new_seed, sent or '' }
