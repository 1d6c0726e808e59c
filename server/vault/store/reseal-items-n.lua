-- reseal-items
-- Replaces the sealed parts of items of one bucket by others with the same data, where they are still the ones that were
-- read, and their entries of the metadata index. Times, logs and other indexes stay.
-- KEYS  1 fence  2 metadata index, then for each item its hash, and its sad (string)
-- ARGV  1 generation  2 '1' if summaries were made, '0' if not, then for each item: token | last 16 bytes of the metadata that was
--       read | envelope and content | metadata | sad or '' | entries of the metadata index, 8 bytes each
-- Reply {'closed'|'stale'} | {'ok', number of replaced items}
local call = redis.call
local FIXED_KEYS, FIXED_ARGS, ITEM_ARGS = 2, 2, 6
local fence, metadata = KEYS[1], KEYS[2]
local state = fence_state(fence, tonumber(ARGV[1]))
if state then
  return { state }
end
if (call('HGET', fence, 's') or ARGV[2]) ~= ARGV[2] then
  return { 'stale' }
end
local replaced = 0
for i = 1, (#ARGV - FIXED_ARGS) / ITEM_ARGS do
  local key, sad_key = unpack(KEYS, FIXED_KEYS + 2 * i - 1, FIXED_KEYS + 2 * i)
  local at = FIXED_ARGS + (i - 1) * ITEM_ARGS
  local token, tag, content, meta, sad, digests = unpack(ARGV, at + 1, at + ITEM_ARGS)
  local have = call('HMGET', key, 'm', 'c', 'y')
  if have[1] and have[2] and string.sub(have[1], -16) == tag then
    call('HSET', key, 'c', content, 'm', meta)
    if sad == '' then
      call('DEL', sad_key)
    elseif call('EXISTS', sad_key) == 1 then
      -- One that has expired meanwhile does not come back.
      call('SET', sad_key, sad, 'KEEPTTL')
    end
    local before = have[3] or ''
    if before ~= digests then
      drop_digests(key, token, metadata)
      add_digests(key, token, metadata, digests)
    end
    replaced = replaced + 1
  end
end
return { 'ok', replaced }
