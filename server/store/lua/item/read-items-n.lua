-- read-items
-- Reads many items of one bucket into one string, which the caller passes to a worker thread unparsed.
-- KEYS  1 fence, then the item keys; after them, if ARGV[2] is 'full', their sad keys in the same order
-- ARGV  1 generation that the reader knows, or ''  2 'full' or 'meta'  3 bytes after which to stop
-- Reply {'ok', blob, items in it} | {'closed'|'stale'}. The blob is one record per item, in order:
--   u32 length of each of: item, metadata, tail, sad; u32 log length; then those four byte strings.
--   A missing item has all lengths 0. 'meta' leaves item, tail and sad empty.
if ARGV[1] ~= '' then
  local fenced = fence_state(KEYS[1], tonumber(ARGV[1]))
  if fenced then
    return { fenced }
  end
end
local call, pack = redis.call, struct.pack
local full = ARGV[2] == 'full'
local total = full and (#KEYS - 1) / 2 or #KEYS - 1
local most = tonumber(ARGV[3])
-- One call for all: most items have no such data.
local sads = full and total > 0 and call('MGET', unpack(KEYS, total + 2)) or {}
local out, pieces, bytes, items = {}, 0, 0, 0
for i = 1, total do
  local item, meta, tail, sad, count = '', '', '', '', 0
  if full then
    local have = call('HMGET', KEYS[1 + i], 'c', 'm', 'n')
    item, meta = have[1] or '', have[2] or ''
    if have[1] then
      count, tail = log_of(KEYS[1 + i], have[3] or '')
    end
    sad = sads[i] or ''
  else
    meta = call('HGET', KEYS[1 + i], 'm') or ''
  end
  out[pieces + 1] = pack('>I4I4I4I4I4', #item, #meta, #tail, #sad, count)
  out[pieces + 2], out[pieces + 3], out[pieces + 4], out[pieces + 5] = item, meta, tail, sad
  pieces = pieces + 5
  items = i
  bytes = bytes + #item + #meta + #sad
  if bytes > most then
    break
  end
end
return { 'ok', table.concat(out), items }
