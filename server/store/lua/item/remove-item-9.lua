-- remove-item
-- Deletes an item with its log. Its identity tag is kept, so that the token is never used for another number.
-- KEYS  1 item  2 sad  3 time index  4 reference index  5 fence
--       6 tokens whose logs have changed  7 notes of removed logs  8 undelivered logs  9 outbox
-- ARGV  1 token  2 last 16 bytes of the metadata that was checked  3 reference index member or ''
--       4 proof that the service removes the log that begins with the entry of these last 16 bytes (5)
--       6 '1' when logs are delivered to a sink, or ''
-- Reply 'ok' | 'missing' | 'changed' | 'closed'
local closed_until = redis.call('HGET', KEYS[5], 'c')
if closed_until and now_ms() < tonumber(closed_until) then
  return 'closed'
end
local have = redis.call('HMGET', KEYS[1], 'm', '1', 'r')
local meta, first, recorded = have[1], have[2], have[3]
if not meta then
  return 'missing'
end
if string.sub(meta, -16) ~= ARGV[2] or string.sub(first or '', -16) ~= ARGV[5] then
  return 'changed'
end
local tag = recorded and string.sub(redis.call('HGET', KEYS[1], recorded) or '', -16)
local newest = redis.call('ZRANGE', KEYS[3], -1, -1)[1]
if newest == ARGV[1] then
  -- The newest position must not be used again: a cursor may point to it.
  redis.call('HSET', KEYS[5], 'l', redis.call('ZSCORE', KEYS[3], ARGV[1]))
end
local undelivered = ARGV[6] ~= '' and undelivered_of(KEYS[1], ARGV[1], KEYS[8])
redis.call('UNLINK', KEYS[1], KEYS[2])
redis.call('ZREM', KEYS[3], ARGV[1])
if ARGV[3] ~= '' then
  redis.call('ZREM', KEYS[4], ARGV[3])
end
-- Behind the first write, so that it also works on a full Redis.
if undelivered then
  keep_undelivered(undelivered, ARGV[1], KEYS[8], KEYS[9])
end
if recorded then
  redis.call('HSET', KEYS[7], ARGV[1], ARGV[4] .. ARGV[5] .. struct.pack('<I4', tonumber(recorded) or 0) .. tag)
  redis.call('SADD', KEYS[6], ARGV[1])
end
return 'ok'
