-- Reads many items of one bucket into one string, so that the caller need not look into it.
-- KEYS  1 fence, then the item keys; behind them, when ARGV[2] is 'full', their sad keys in the same order
-- ARGV  1 generation that the reader knows, or ''  2 'full' or 'meta'  3 bytes after which to stop
-- Reply {'ok', blob, items in it} | {'closed'|'stale'}. The blob is one record per item, in order:
--   u32 length of each of: item, metadata, tail, sad; u32 log length; then those four byte strings.
--   A missing item has all lengths 0. 'meta' leaves item, tail and sad empty.
if ARGV[1] ~= '' then
  local refused = fence_refuses(KEYS[1], tonumber(ARGV[1]))
  if refused then
    return { refused }
  end
end
local full = ARGV[2] == 'full'
local total = full and (#KEYS - 1) / 2 or #KEYS - 1
local out = {}
local bytes = 0
for i = 1, total do
  local key = KEYS[1 + i]
  if full then
    local have = redis.call('HMGET', key, 'c', 'm', 'n')
    local item, meta = have[1] or '', have[2] or ''
    local count = tonumber(have[3] or '0')
    local tail = tail_of(key, count)
    local sad = redis.call('GET', KEYS[1 + total + i]) or ''
    out[i] = struct.pack('>I4I4I4I4I4', #item, #meta, #tail, #sad, count) .. item .. meta .. tail .. sad
  else
    local meta = redis.call('HGET', key, 'm') or ''
    out[i] = struct.pack('>I4I4I4I4I4', 0, #meta, 0, 0, 0) .. meta
  end
  bytes = bytes + #out[i]
  if bytes > tonumber(ARGV[3]) then
    break
  end
end
return { 'ok', table.concat(out), #out }
