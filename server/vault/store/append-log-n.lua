-- append-log
-- Appends one log entry to each of many items of one bucket.
-- KEYS  1 fence  2 tokens whose logs have changed  3 counts, then the item keys
-- ARGV  1 generation that the reader knows, or ''  2 name of the count of appended entries, or ''
--       3 the concatenated entries, each preceded by the number and tail that it names
--       4 the end of each entry, u32 little-endian; absent for one item. An item with an empty entry is skipped
-- Reply {'ok', a character per item: '1' appended, '0' skipped or missing} | {'closed'|'stale'}
-- An item is missing too if its log is not the one that the entry names.
local FIXED_KEYS = 3
local fence, changed_logs, usage = KEYS[1], KEYS[2], KEYS[3]
local generation, counted, entries, ends = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

if generation ~= '' then
  local fenced = fence_state(fence, tonumber(generation))
  if fenced then
    return { fenced }
  end
end
local call, sub, out, changed = redis.call, string.sub, {}, {}

-- Appends the entry from one position to another; false if the item is missing.
local function append(item, at, to)
  local n = call('HGET', item, 'n')
  if not n then
    return false
  end
  local seen, tail = named_by(entries, at)
  if seen ~= '0' and not is_log(item, n, seen, tail) then
    return false
  end
  local entry = sub(entries, at + NAMED_BYTES, to)
  local count = string.format('%d', length_of(n) + 1)
  call('HSET', item, 'n', count .. sub(entry, -16), count, entry)
  return true
end

local at = 1
for i = 1, #KEYS - FIXED_KEYS do
  local item, to = KEYS[FIXED_KEYS + i], ends and struct.unpack('<I4', ends, 4 * i - 3) or #entries
  if to >= at and append(item, at, to) then
    -- The names of an item and of that set differ in the token alone.
    changed[#changed + 1] = sub(item, #changed_logs + 1)
    out[i] = '1'
  else
    out[i] = '0'
  end
  at = to + 1
end
if #changed > 0 then
  call('SADD', changed_logs, unpack(changed))
  if counted ~= '' then
    call('HINCRBY', usage, counted, #changed)
  end
end
return { 'ok', table.concat(out) }
