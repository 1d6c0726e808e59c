-- read-item
-- Reads all parts of one item.
-- KEYS  1 item  2 sad  3 time index  4 fence
-- ARGV  1 token  2 generation that the reader knows, or '' to ignore the fence
-- Reply {'ok', item, metadata, log length, tail, stored_at ms, sad or ''} | {'missing'|'closed'|'stale'}
local item, sad, times, fence = unpack(KEYS)
local token, generation = ARGV[1], ARGV[2]

if generation ~= '' then
  local fenced = fence_state(fence, tonumber(generation))
  if fenced then
    return { fenced }
  end
end
local have = redis.call('HMGET', item, 'c', 'm', 'n')
if not have[1] then
  return { 'missing' }
end
local count, tail = log_of(item, have[3])
local code = redis.call('GET', sad) or ''
return { 'ok', have[1], have[2], count, tail, redis.call('ZSCORE', times, token), code }
