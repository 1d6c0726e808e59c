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
local from = 0
for i = 1, #KEYS - FIXED_KEYS do
  local item, entry, to = KEYS[FIXED_KEYS + i], entries, #entries
  if ends then
    to = struct.unpack('<I4', ends, 4 * i - 3)
    entry = sub(entries, from + 1, to)
  end
  local n = false
  if to > from then
    local seen, tail, at = named_by(entry)
    local have = call('HMGET', item, 'n', seen)
    n = have[1]
    if n and seen ~= '0' and not is_log(n, have[2], seen, tail) then
      n = false
    end
    entry = sub(entry, at)
  end
  from = to
  if n then
    local count = string.format('%d', (#n > 16 and sub(n, 1, -17) or n) + 1)
    call('HSET', item, 'n', count .. sub(entry, -16), count, entry)
    -- The names of an item and of that set differ in the token alone.
    changed[#changed + 1] = sub(item, #changed_logs + 1)
    out[i] = '1'
  else
    out[i] = '0'
  end
end
if #changed > 0 then
  call('SADD', changed_logs, unpack(changed))
  if counted ~= '' then
    call('HINCRBY', usage, counted, #changed)
  end
end
return { 'ok', table.concat(out) }
