-- Prepended to the scripts that remove items, when logs are delivered to a sink.
-- The entries of an item's log that were not delivered, as they stand in the outbox: number u32, length of the token u16,
-- both little-endian, token, entry. `undelivered` is the hash of the bucket.
local function undelivered_of(item, token, undelivered)
  local have, out = redis.call('HMGET', item, 'n', 'r'), {}
  local length = have[1] or '0'
  local count = tonumber(#length > 16 and string.sub(length, 1, -17) or length) or 0
  local from = tonumber(redis.call('HGET', undelivered, token) or have[2] or '0') or 0
  for at = from + 1, count do
    local entry = redis.call('HGET', item, string.format('%d', at)) or ''
    out[#out + 1] = struct.pack('<I4I2', at, #token) .. token .. entry
  end
  return out
end

local function keep_undelivered(entries, token, undelivered, outbox)
  for _, entry in ipairs(entries) do
    redis.call('RPUSH', outbox, entry)
  end
  redis.call('HDEL', undelivered, token)
end
