-- Prepended to every script that uses a bucket. A bucket's fence is a hash:
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
  local f = redis.call('HMGET', fence, 'g', 'c', 'w')
  if not gen then
    return nil, f[3]
  end
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

-- The length of a log by the field n of its item: the length in decimal, then the last 16 bytes of the newest entry. Until
-- their next entry items of the first version have only the length.
local function length_of(n)
  local length = #n > 16 and string.sub(n, 1, -17) or n
  if not string.find(length, '^%d+$') or tonumber(length) > 4294967294 then
    error('not a length')
  end
  return length
end

-- True if an entry ends with the last 16 bytes that a log field names, and no entry is after it.
local function is_end(tail, entry, after)
  return not after and string.sub(entry or '', -16) == tail
end

-- The length of an item's log, and the last 16 bytes of its newest entry. An error if the log does not end there.
local function log_of(item, n)
  local length = length_of(n)
  local entry, after = unpack(redis.call('HMGET', item, length, string.format('%d', length + 1)))
  local tail = string.sub(#n > 16 and n or entry or '', -16)
  if not is_end(tail, entry, after) then
    error('not the end of the log')
  end
  return tonumber(length), tail
end

-- The prefix of an entry: the length of the log that its writer saw, u32 little-endian, and the last 16 bytes of the newest
-- entry in it. Returns both.
local NAMED_BYTES = 20
local function named_by(entries, at)
  return string.format('%d', (struct.unpack('<I4', entries, at))), string.sub(entries, at + 4, at + NAMED_BYTES - 1)
end

-- True if the log of field n is the one that an entry names, perhaps grown. The log of an item that was deleted and stored
-- anew is another one.
local function is_log(item, n, seen, tail)
  return n == seen .. tail or string.sub(redis.call('HGET', item, seen) or '', -16) == tail
end

-- The field n of a log whose newest entry is number count.
local function log_field(count, entry)
  return string.format('%d', count) .. string.sub(entry, -16)
end

-- The members of the metadata index that a token has for its digests, 8 bytes each.
local function each_digest(digests, token, act)
  for at = 1, #digests, 8 do
    act(string.sub(digests, at, at + 7) .. token .. struct.pack('>I2', #token))
  end
end

-- Adds an item to the metadata index.
local function add_digests(item, token, metadata, digests)
  if digests ~= '' then
    redis.call('HSET', item, 'y', digests)
    each_digest(digests, token, function(member)
      redis.call('ZADD', metadata, 0, member)
    end)
  end
end

-- Removes an item from the metadata index.
local function drop_digests(item, token, metadata)
  local digests = redis.call('HGET', item, 'y')
  if digests then
    each_digest(digests, token, function(member)
      redis.call('ZREM', metadata, member)
    end)
    redis.call('HDEL', item, 'y')
  end
end

-- Removes an item from the metadata index and the expiries.
local function drop_facts(item, token, metadata, expiries)
  drop_digests(item, token, metadata)
  redis.call('ZREM', expiries, token)
end
