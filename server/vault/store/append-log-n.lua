-- append-log
-- Appends one log entry to each of many items of one bucket.
-- KEYS  1 fence  2 tokens whose logs have changed, then the item keys
-- ARGV  1 generation that the reader knows, or ''  2 the concatenated entries, each preceded by the number and tail that
--       it names  3 the end of each entry, u32 little-endian; absent for one item. An item with an empty entry is skipped
-- Reply {'ok', a character per item: '1' appended, '0' skipped or missing} | {'closed'|'stale'}
-- An item is missing too if its log is not the one that the entry names.
local fence, changed_logs = KEYS[1], KEYS[2]
local generation, entries, ends = ARGV[1], ARGV[2], ARGV[3]

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
  local count = string.format('%d', sub(n, 1, -17) + 1)
  call('HSET', item, 'n', count .. sub(entry, -16), count, entry)
  return true
end

local at = 1
for i = 3, #KEYS do
  local to = ends and struct.unpack('<I4', ends, 4 * i - 11) or #entries
  if to >= at and append(KEYS[i], at, to) then
    -- The names of an item and of that set differ in the token alone.
    changed[#changed + 1] = sub(KEYS[i], #changed_logs + 1)
    out[i - 2] = '1'
  else
    out[i - 2] = '0'
  end
  at = to + 1
end
if #changed > 0 then
  call('SADD', changed_logs, unpack(changed))
end
return { 'ok', table.concat(out) }
