-- read-item
-- Reads all parts of one item.
-- KEYS  1 item  2 sad  3 time index  4 fence
-- ARGV  1 token  2 generation that the reader knows, or '' to ignore the fence
-- Reply {'ok', item, metadata, log length, tail, stored_at ms, sad or ''} | {'missing'|'closed'|'stale'}
if ARGV[2] ~= '' then
  local fenced = fence_state(KEYS[4], tonumber(ARGV[2]))
  if fenced then
    return { fenced }
  end
end
local have = redis.call('HMGET', KEYS[1], 'c', 'm', 'n')
if not have[1] then
  return { 'missing' }
end
local count, tail = log_of(KEYS[1], have[3])
local sad = redis.call('GET', KEYS[2]) or ''
return { 'ok', have[1], have[2], count, tail, redis.call('ZSCORE', KEYS[3], ARGV[1]), sad }
