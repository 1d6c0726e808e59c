-- expire-items
-- Removes items of one bucket that have expired by the clock of Redis, except their logs.
-- KEYS  1 fence  2 time index  3 reference index  4 metadata index  5 expiries  6 outbox of events, then for each item: the
--       item, its sad
-- ARGV  for each item: token | last 16 bytes of the metadata that was read | reference index member or ''
-- Reply number of items that have expired; 0 while a deletion has closed the bucket
local call = redis.call
local fence, times, references, metadata, expiries, outbox = unpack(KEYS, 1, 6)

local closed_until, last, watched = unpack(call('HMGET', fence, 'c', 'l', 'w'))
local is_kept = is_watched(watched)
local now, expired = now_ms(), 0
if closed_until and now < tonumber(closed_until) then
  return 0
end
local newest = call('ZRANGE', times, -1, -1, 'WITHSCORES')
for i = 1, #ARGV / 3 do
  local item, sad = KEYS[5 + 2 * i], KEYS[6 + 2 * i]
  local token, checked, member = unpack(ARGV, 3 * i - 2, 3 * i)
  local score = call('ZSCORE', expiries, token) or '-1'
  local due = tonumber(score)
  local meta = call('HGET', item, 'm')
  -- An item that was stored again meanwhile has other metadata.
  if due >= 0 and due <= now and meta and string.sub(meta, -16) == checked then
    call('HDEL', item, 'c', 's')
    drop_digests(item, token, metadata)
    call('UNLINK', sad)
    call('ZREM', times, token)
    if newest[1] == token and tonumber(newest[2]) > tonumber(last or '0') then
      -- The newest position must not be used again: a cursor may point to it.
      call('HSET', fence, 'l', newest[2])
    end
    if member ~= '' then
      call('ZREM', references, member)
    end
    call('ZADD', expiries, '-' .. score, token)
    if is_kept then
      keep_event(outbox, 5, token, '', meta)
    end
    expired = expired + 1
  end
end
return expired
