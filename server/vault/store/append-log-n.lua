-- append-log
-- Appends one log entry to each of many items of one bucket.
-- KEYS  1 fence  2 tokens whose logs have changed  3 counts  4 readings  5 outbox of events, then the item keys
-- ARGV  1 generation that the reader knows, or ''  2 name of the count of appended entries, or ''
--       3 time of the entries in ms if they are successful readings, or ''
--       4 the concatenated entries, each preceded by the number and tail that it names
--       5 the end of each entry, u32 little-endian; absent for one item. An item with an empty entry is skipped
-- Reply {'ok', a character per item: '1' appended, '0' skipped or missing, '2' its log does not end where its field says}
--   | {'closed'|'stale'}
-- An item is missing too if its log is not the one that the entry names.
-- The readings of a call are one member: for each item, number of the entry u32 and length of the token u16, both
-- little-endian, token, last 4 bytes of the entry.
local FIXED_KEYS = 5
local fence, changed_logs, usage, readings, outbox = unpack(KEYS, 1, FIXED_KEYS)
local generation, counted, read_at, entries, ends = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local fenced, watched = fence_state(fence, tonumber(generation))
if fenced then
  return { fenced }
end
local is_kept = is_watched(watched, '2')
local call, sub, out, changed, read = redis.call, string.sub, {}, {}, {}

-- Appends the entry from one position to another. Returns the character of the item, and the number of an appended entry.
local function append(item, at, to)
  local seen, tail = named_by(entries, at)
  local n, newest, after = unpack(call('HMGET', item, 'n', seen, string.format('%d', seen + 1)))
  if not n then
    return '0'
  end
  if n == seen .. tail then
    if not is_end(tail, newest, after) then
      return '2'
    end
  elseif seen ~= '0' and sub(newest or '', -16) ~= tail then
    return '0'
  end
  local entry = sub(entries, at + NAMED_BYTES, to)
  local count = string.format('%d', length_of(n) + 1)
  call('HSET', item, 'n', count .. sub(entry, -16), count, entry)
  if is_kept then
    keep_event(outbox, 3, sub(item, #changed_logs + 1), entry, call('HGET', item, 'm') or '')
  end
  return '1', count
end

local at = 1
for i = 1, #KEYS - FIXED_KEYS do
  local item, to = KEYS[FIXED_KEYS + i], ends and struct.unpack('<I4', ends, 4 * i - 3) or #entries
  local count
  if to >= at then
    out[i], count = append(item, at, to)
  else
    out[i] = '0'
  end
  if count then
    -- The names of an item and of that set differ in the token alone.
    local token = sub(item, #changed_logs + 1)
    changed[#changed + 1] = token
    if read_at ~= '' then
      read[#read + 1] = struct.pack('<I4I2', tonumber(count), #token) .. token .. sub(entries, to - 3, to)
    end
  end
  at = to + 1
end
if #changed > 0 then
  call('SADD', changed_logs, unpack(changed))
  if read_at ~= '' then
    call('ZADD', readings, read_at, table.concat(read))
  end
  if counted ~= '' then
    call('HINCRBY', usage, counted, #changed)
  end
end
return { 'ok', table.concat(out) }
