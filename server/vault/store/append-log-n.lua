-- append-log
-- Appends one log entry to each of many items of one bucket.
-- KEYS  1 fence  2 tokens whose logs have changed, then the item keys
-- ARGV  1 generation that the reader knows, or ''  2 the entries one behind the other, each behind what it names
--   3 unless there is one item: where each entry ends, u32 little-endian; an item whose entry is empty is left out
-- Reply {'ok', a character per item: '1' appended, '0' left out or no longer there} | {'closed'|'stale'}
-- An item whose log is not the one that the entry names is no longer there.
if ARGV[1] ~= '' then
  local fenced = fence_state(KEYS[1], tonumber(ARGV[1]))
  if fenced then
    return { fenced }
  end
end
local call, sub, out, changed = redis.call, string.sub, {}, {}
local entries, ends, from = ARGV[2], ARGV[3], 0
for i = 3, #KEYS do
  local entry, to = entries, #entries
  if ends then
    to = struct.unpack('<I4', ends, 4 * i - 11)
    entry = sub(entries, from + 1, to)
  end
  local n = false
  if to > from then
    local seen, tail, at = named_by(entry)
    local have = call('HMGET', KEYS[i], 'n', seen)
    n = have[1]
    if n and seen ~= '0' and not is_log(n, have[2], seen, tail) then
      n = false
    end
    entry = sub(entry, at)
  end
  from = to
  if n then
    local count = string.format('%d', (#n > 16 and sub(n, 1, -17) or n) + 1)
    call('HSET', KEYS[i], 'n', count .. sub(entry, -16), count, entry)
    -- The names of an item and of that set differ in the token alone.
    changed[#changed + 1] = sub(KEYS[i], #KEYS[2] + 1)
    out[i - 2] = '1'
  else
    out[i - 2] = '0'
  end
end
if #changed > 0 then
  call('SADD', KEYS[2], unpack(changed))
end
return { 'ok', table.concat(out) }
