-- append-log
-- Appends one log entry to each of many items of one bucket.
-- KEYS  1 fence, then the item keys
-- ARGV  1 generation that the reader knows, or ''  then one entry per item
-- Reply {'ok', a character per item: '1' appended, '0' the item no longer exists} | {'closed'|'stale'}
if ARGV[1] ~= '' then
  local fenced = fence_state(KEYS[1], tonumber(ARGV[1]))
  if fenced then
    return { fenced }
  end
end
local call, sub, out = redis.call, string.sub, {}
for i = 2, #KEYS do
  local n = call('HGET', KEYS[i], 'n')
  if n then
    local count = string.format('%d', (#n > 16 and sub(n, 1, -17) or n) + 1)
    local entry = ARGV[i]
    call('HSET', KEYS[i], 'n', count .. sub(entry, -16), count, entry)
    out[i - 1] = '1'
  else
    out[i - 1] = '0'
  end
end
return { 'ok', table.concat(out) }
