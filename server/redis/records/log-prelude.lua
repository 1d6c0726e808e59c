-- Prepended to the scripts that read or write logs of items.

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
