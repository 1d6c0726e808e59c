-- copy-items
-- Reads complete items of one bucket, as of one moment.
-- KEYS  1 time index, then the items, then their sads in the same order
-- ARGV  1 bytes after which to stop, then a token for each item
-- Reply a list for each item that was read: {} if it no longer exists | {stored_at ms, sad or '', expiry of the sad in ms
--       or a negative number, field, value, field, value, ...}
local total = #ARGV - 1
local most = tonumber(ARGV[1])
local out, bytes = {}, 0
for i = 1, total do
  local item = redis.call('HGETALL', KEYS[1 + i])
  local stored_at = #item > 0 and redis.call('ZSCORE', KEYS[1], ARGV[1 + i])
  if stored_at then
    local sad = KEYS[1 + total + i]
    local one = { stored_at, redis.call('GET', sad) or '', redis.call('PEXPIRETIME', sad) }
    for part = 1, #item do
      one[part + 3] = item[part]
      bytes = bytes + #item[part]
    end
    out[i] = one
  else
    out[i] = {}
  end
  if bytes > most then
    break
  end
end
return out
