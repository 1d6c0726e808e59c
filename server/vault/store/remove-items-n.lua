-- remove-items
-- Deletes items of one bucket with their logs, each independently: one that is not what was read stays.
-- Their identity tags are kept, so that a token is never used for another number.
-- KEYS  1 time index  2 reference index  3 fence  4 tokens whose logs have changed  5 notes of removed logs
--       6 undelivered logs  7 outbox  8 metadata index  9 expiries  10 counts  11 outbox of events, then for each item:
--       the item, its sad
-- ARGV  1 '1' when logs are delivered to a sink, or ''  2 name of the count of deleted items, or ''
--       3 sealed cause of the events, or '' for none, then for each item:
--       1 token  2 last 16 bytes of the metadata that was checked  3 last 16 bytes of the first entry of its log
--       4 proof that the service removes the log that begins so  5 reference index member or ''
-- Reply 'closed' | a list of 'ok' | 'missing' | 'changed' | 'damaged'
local FIXED_KEYS, ITEM_KEYS, FIXED_ARGS, ITEM_ARGS = 11, 2, 3, 5
local call, sub = redis.call, string.sub
local times, references, fence, changed, removed, undelivered, outbox, metadata, expiries, usage, events =
  unpack(KEYS, 1, FIXED_KEYS)
local is_streamed, counted, cause = ARGV[1] ~= '', ARGV[2], ARGV[3]

local closed_until, watched = unpack(call('HMGET', fence, 'c', 'w'))
local is_kept = cause ~= '' and is_watched(watched)
if closed_until and now_ms() < tonumber(closed_until) then
  return 'closed'
end

local function remove(item, sad, token, checked, begin, proof, member)
  local have = call('HMGET', item, 'm', '1', 'r', 'y')
  local meta, first, recorded = have[1], have[2], have[3]
  if not meta then
    return 'missing'
  end
  if sub(meta, -16) ~= checked or sub(first or '', -16) ~= begin then
    return 'changed'
  end
  local tag = recorded and sub(call('HGET', item, recorded) or '', -16)
  local newest = call('ZRANGE', times, -1, -1, 'WITHSCORES')
  local kept = is_streamed and undelivered_of(item, token, undelivered)
  call('UNLINK', item, sad)
  -- After the first write, so that it also works on a full Redis.
  call('ZREM', times, token)
  if newest[1] == token and tonumber(newest[2]) > tonumber(call('HGET', fence, 'l') or '0') then
    -- The newest position must not be used again: a cursor may point to it.
    call('HSET', fence, 'l', newest[2])
  end
  if member ~= '' then
    call('ZREM', references, member)
  end
  each_digest(have[4] or '', token, function(digest)
    call('ZREM', metadata, digest)
  end)
  call('ZREM', expiries, token)
  if is_kept then
    keep_event(events, 4, token, cause, meta)
  end
  if kept then
    keep_undelivered(kept, token, undelivered, outbox)
  end
  if recorded then
    call('HSET', removed, token, proof .. begin .. struct.pack('<I4', tonumber(recorded) or 0) .. tag)
    call('SADD', changed, token)
  end
  return 'ok'
end

local out, deleted = {}, 0
for i = 1, (#KEYS - FIXED_KEYS) / ITEM_KEYS do
  local key, arg = FIXED_KEYS + (i - 1) * ITEM_KEYS, FIXED_ARGS + (i - 1) * ITEM_ARGS
  local done, outcome = pcall(remove, KEYS[key + 1], KEYS[key + 2], unpack(ARGV, arg + 1, arg + ITEM_ARGS))
  -- Errors of Redis concern all items; a value of another type, and an error of Lua, concern this item.
  if not done and type(outcome) == 'table' and not string.find(outcome.err, '^WRONGTYPE') then
    error(outcome)
  end
  out[i] = done and outcome or 'damaged'
  deleted = deleted + (outcome == 'ok' and 1 or 0)
end
if deleted > 0 and counted ~= '' then
  call('HINCRBY', usage, counted, deleted)
end
return out
