-- reseal-items
-- Replaces the sealed parts of items of one bucket by others with the same data, where they are still the ones that were
-- read. Times, logs and indexes stay.
-- KEYS  1 fence, then for each item its hash, and its sad (string)
-- ARGV  1 generation, then for each item: last 16 bytes of the metadata that was read | envelope and content | metadata
--       | sad or ''
-- Reply {'closed'|'stale'} | {'ok', number of replaced items}
local call = redis.call
local FIXED_KEYS, FIXED_ARGS, ITEM_ARGS = 1, 1, 4
local state = fence_state(KEYS[1], tonumber(ARGV[1]))
if state then
  return { state }
end
local replaced = 0
for i = 1, (#ARGV - FIXED_ARGS) / ITEM_ARGS do
  local key, sad_key = unpack(KEYS, FIXED_KEYS + 2 * i - 1, FIXED_KEYS + 2 * i)
  local at = FIXED_ARGS + (i - 1) * ITEM_ARGS
  local tag, content, meta, sad = unpack(ARGV, at + 1, at + ITEM_ARGS)
  local have = call('HMGET', key, 'm', 'c')
  if have[1] and have[2] and string.sub(have[1], -16) == tag then
    call('HSET', key, 'c', content, 'm', meta)
    if sad == '' then
      call('DEL', sad_key)
    elseif call('EXISTS', sad_key) == 1 then
      -- One that has expired meanwhile does not come back.
      call('SET', sad_key, sad, 'KEEPTTL')
    end
    replaced = replaced + 1
  end
end
return { 'ok', replaced }
