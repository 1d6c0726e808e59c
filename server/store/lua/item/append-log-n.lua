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
local call, out = redis.call, {}
for i = 2, #KEYS do
  local count = call('HGET', KEYS[i], 'n')
  if count then
    local next = string.format('%d', count + 1)
    call('HSET', KEYS[i], 'n', next, next, ARGV[i])
    out[i - 1] = '1'
  else
    out[i - 1] = '0'
  end
end
return { 'ok', table.concat(out) }
