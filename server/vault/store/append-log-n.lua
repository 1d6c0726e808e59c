-- append-log
-- Appends one log entry to each of many items of one bucket.
-- KEYS  1 fence  2 tokens whose logs have changed  3 counts  4 outbox of events, then the item keys
-- ARGV  1 generation that the reader knows, or ''  2 name of the count of appended entries, or ''
--       3 the concatenated entries, each preceded by the number and tail that it names
--       4 the end of each entry, u32 little-endian; absent for one item. An item with an empty entry is skipped
-- Reply {'ok', a character per item: '1' appended, '0' skipped or missing, '2' its log does not end where its field says}
--   | {'closed'|'stale'}
-- An item is missing too if its log is not the one that the entry names.
local FIXED_KEYS = 4
local fence, changed_logs, usage, outbox = unpack(KEYS, 1, FIXED_KEYS)
local generation, counted, entries, ends = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local fenced, watched = fence_state(fence, tonumber(generation))
if fenced then
  return { fenced }
end
local is_kept = is_watched(watched, '2')
local call, sub, out, changed = redis.call, string.sub, {}, {}

-- Appends the entry from one position to another, and returns the character of the item.
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
  return '1'
end

local at = 1
for i = 1, #KEYS - FIXED_KEYS do
  local item, to = KEYS[FIXED_KEYS + i], ends and struct.unpack('<I4', ends, 4 * i - 3) or #entries
  out[i] = to >= at and append(item, at, to) or '0'
  if out[i] == '1' then
    -- The names of an item and of that set differ in the token alone.
    changed[#changed + 1] = sub(item, #changed_logs + 1)
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
