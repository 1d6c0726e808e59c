-- expire-items
-- Leaves nothing but their logs of items of one bucket that have expired, by the clock of Redis.
-- KEYS  1 fence  2 time index  3 reference index  4 metadata index  5 expiries, then for each item: the item, its sad
-- ARGV  for each item: token | last 16 bytes of the metadata that was read | reference index member or ''
-- Reply number of items that have expired; 0 while a deletion has closed the bucket
local call = redis.call
local fence = call('HMGET', KEYS[1], 'c', 'l')
local now, expired = now_ms(), 0
if fence[1] and now < tonumber(fence[1]) then
  return 0
end
local newest = call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')
for i = 1, #ARGV / 3 do
  local item, sad, at = KEYS[4 + 2 * i], KEYS[5 + 2 * i], 3 * i - 2
  local token = ARGV[at]
  local score = call('ZSCORE', KEYS[5], token) or '-1'
  local due = tonumber(score)
  local have = call('HMGET', item, 'm', 'y')
  -- An item that was stored anew meanwhile has other metadata.
  if due >= 0 and due <= now and have[1] and string.sub(have[1], -16) == ARGV[at + 1] then
    call('HDEL', item, 'c', 's', 'y')
    call('UNLINK', sad)
    call('ZREM', KEYS[2], token)
    if newest[1] == token and tonumber(newest[2]) > tonumber(fence[2] or '0') then
      -- The newest position must not be used again: a cursor may point to it.
      call('HSET', KEYS[1], 'l', newest[2])
    end
    if ARGV[at + 2] ~= '' then
      call('ZREM', KEYS[3], ARGV[at + 2])
    end
    each_digest(have[2] or '', token, function(member)
      call('ZREM', KEYS[4], member)
    end)
    call('ZADD', KEYS[5], '-' .. score, token)
    expired = expired + 1
  end
end
return expired
