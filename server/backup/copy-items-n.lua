-- copy-items
-- Reads complete items of one bucket, as of one moment, and logs of items that have expired.
-- KEYS  1 time index  2 expiries, then the items, then their sads in the same order
-- ARGV  1 bytes after which to stop, then a token for each item
-- Reply a list for each item that was read: {} if it no longer exists | {stored_at ms, or its negative time in the expiries
--       if nothing but its log is left, sad or '', expiry of the sad in ms or a negative number, field, value, ...}
local times, expiries = KEYS[1], KEYS[2]
local bytes_max, total = tonumber(ARGV[1]), #ARGV - 1
local out, bytes = {}, 0
for i = 1, total do
  local token, item = ARGV[1 + i], redis.call('HGETALL', KEYS[2 + i])
  local at = #item > 0 and redis.call('ZSCORE', times, token)
  if #item > 0 and not at then
    local left = redis.call('ZSCORE', expiries, token)
    at = left and tonumber(left) < 0 and left
  end
  if at then
    local sad = KEYS[2 + total + i]
    local one = { at, redis.call('GET', sad) or '', redis.call('PEXPIRETIME', sad) }
    for part = 1, #item do
      one[part + 3] = item[part]
      bytes = bytes + #item[part]
    end
    out[i] = one
  else
    out[i] = {}
  end
  if bytes > bytes_max then
    break
  end
end
return out
