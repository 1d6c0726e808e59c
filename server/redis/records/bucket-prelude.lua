-- Prepended to the scripts that use the fence of a bucket, or the clock. A fence is a hash:
--   g  newest generation whose writers may write (absent: 1)
--   c  closed until this time, ms (absent: open)
--   o  id of the deletion that closed it
--   s  '1' if the key has summaries, '0' if it has none (absent: as it was created)
--   l  newest stored_at that was ahead of the clock (absent: none)
--   w  version of the account's event subscriptions, then what the outbox of events keeps: 0 nothing, 1 changes, 2 readings too
--      (absent: nothing)
local function now_ms()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

-- True if the outbox of events keeps changes, or with '2' readings.
local function is_watched(mode, wanted)
  return mode ~= false and string.sub(mode, -1) >= (wanted or '1')
end

-- Adds a change to the outbox of events: kind u8 (1 created, 2 updated, 3 log entry, 4 deleted, 5 expired), length of the token
-- u16, of the entry u32, little-endian, then token, entry, metadata of the item. A deletion has the sealed cause as its entry.
local function keep_event(outbox, kind, token, entry, meta)
  redis.call('RPUSH', outbox, struct.pack('<BI2I4', kind, #token, #entry) .. token .. entry .. (meta or ''))
end

-- nil if a request that started under generation gen may continue, otherwise 'closed' or 'stale'; then what the outbox of events
-- keeps. Work without a generation may always continue.
local function fence_state(fence, gen)
  if not gen then
    return nil, redis.call('HGET', fence, 'w')
  end
  local f = redis.call('HMGET', fence, 'g', 'c', 'w')
  if f[2] and now_ms() < tonumber(f[2]) then
    return 'closed'
  end
  local newest = tonumber(f[1] or '1')
  if gen < newest then
    return 'stale'
  end
  if gen > newest then
    -- A passphrase change was interrupted after its record was written: finish it here.
    redis.call('HSET', fence, 'g', gen)
  end
  return nil, f[3]
end
