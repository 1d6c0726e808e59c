-- write-items
-- Stores items of one bucket, or replaces them, each with its log entry. All are checked before the first is written.
-- KEYS  1 fence  2 time index  3 reference index  4 identity tags (hash)  5 tokens whose logs have changed
--       6 metadata index  7 expiries  8 counts  9 outbox of events, then for each item its hash, and its sad (string); no item is there twice
-- ARGV  1 generation  2 name of the count of written items, or ''  3 '1' if its writer takes the key to have summaries, '0' if to
--       have none, or '' where that does not matter, then for each item: token | envelope and content
--       | metadata | sad or '' | sad expiry ms or 0 | reference index member or '' | log entry, preceded by the number and tail
--       that it names | '' to store, or the last 16 bytes of the metadata that this write replaces | identity tag or ''
--       | seed of an idempotent request or '' | expiry ms or '' | digests of its metadata or ''
-- Reply {'closed'|'stale'} | {'ok', for each item:
--   {'ok', stored_at ms, 1 if there was none, 1 if this request has written before} | {'clash'|'changed'|'damaged'}
--   | {'exists', log length, tail, 1 unless it has expired}: the entry of a new item must name what this log has}
local call, sub, find, format = redis.call, string.sub, string.find, string.format
local FIXED_KEYS, FIXED_ARGS, ITEM_ARGS = 9, 3, 12
local fence, times, references, identities, changed_logs, metadata, expiries, usage, outbox =
  unpack(KEYS, 1, FIXED_KEYS)
local generation, counted, summaries = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local items = (#ARGV - FIXED_ARGS) / ITEM_ARGS

local newest_generation, closed_until, last, watched, has_summaries = unpack(call('HMGET', fence, 'g', 'c', 'l', 'w', 's'))
newest_generation = tonumber(newest_generation or '1')
local now = now_ms()
if closed_until and now < tonumber(closed_until) then
  return { 'closed' }
end
if generation < newest_generation or has_summaries and summaries ~= '' and summaries ~= has_summaries then
  return { 'stale' }
end

-- Returns the keys and arguments of an item.
local function item_at(i)
  local key, arg = FIXED_KEYS + 2 * i - 1, FIXED_ARGS + (i - 1) * ITEM_ARGS
  return KEYS[key], KEYS[key + 1], unpack(ARGV, arg + 1, arg + ITEM_ARGS)
end

-- Returns true if the item exists: it has not expired, and is not due.
local function is_live(key, token)
  local due = call('ZSCORE', expiries, token)
  return call('HEXISTS', key, 'c') == 1 and not (due and tonumber(due) <= now)
end

-- Returns the reply of an item that is not written, or nil with the length and seeds of its log.
local function check(i)
  local key, _, token, _, _, _, _, _, log_entry, replaced, identity, seed = item_at(i)
  if identity ~= '' then
    local owner = call('HGET', identities, token)
    if owner and owner ~= identity then
      return { 'clash' }
    end
  end
  local have = redis.pcall('HMGET', key, 'n', 'm', 's')
  if have.err then
    return { 'damaged' }
  end
  local n, seeds = have[1], have[3] or ''
  local count, tail = 0, ''
  if n then
    local whole
    whole, count, tail = pcall(log_of, key, n)
    if not whole then
      return { 'damaged' }
    end
  end
  if seed ~= '' and find(seeds, seed .. ',', 1, true) then
    -- This request has already written, and its reply was lost. Later writes of others are kept.
    return { 'ok', call('ZSCORE', times, token) or 0, count == 1 and 1 or 0, 1 }
  end
  local seen, named = named_by(log_entry, 1)
  if replaced ~= '' then
    if not have[2] or sub(have[2], -16) ~= replaced or call('HEXISTS', key, 'c') == 0 then
      return { 'changed' }
    end
  elseif count > 0 or seen ~= '0' then
    if count == 0 or seen == '0' or not is_log(key, n, seen, named) then
      return { 'exists', count, tail, is_live(key, token) and 1 or 0 }
    end
  end
  return nil, count, seeds
end

local replies, counts, seeds = { 'ok' }, {}, {}
local written = 0
for i = 1, items do
  local reply, count, had = check(i)
  replies[i + 1] = reply or false
  if not reply then
    counts[i], seeds[i] = count, had
    written = written + 1
  end
end
if generation > newest_generation then
  -- A passphrase change was interrupted after its record was written: finish it here.
  call('HSET', fence, 'g', generation)
end
if written == 0 then
  return replies
end

-- Strictly after all positions of the bucket: a cursor may point to one.
local floor, stored_at = tonumber(last or '0'), now
if floor >= now or call('ZCOUNT', times, format('%.0f', now), '+inf') > 0 then
  local newest = call('ZRANGE', times, -1, -1, 'WITHSCORES')[2]
  stored_at = math.max(floor, tonumber(newest or '0')) + 1
end
if stored_at + written - 1 > now then
  call('HSET', fence, 'l', format('%.0f', stored_at + written - 1))
end

local places, changed = {}, {}
local is_kept = is_watched(watched)
for i = 1, items do
  local count = counts[i]
  if count then
    local key, sad_key, token, content, meta, sad, sad_expires, member, log_entry, replaced, identity, seed, expires, digests =
      item_at(i)
    local entry = sub(log_entry, NAMED_BYTES + 1)
    local is_new = count == 0 or replaced == '' and not is_live(key, token)
    if count > 0 then
      drop_facts(key, token, metadata, expiries)
    end
    count = count + 1
    call('HSET', key, 'c', content, 'm', meta, 'n', log_field(count, entry), format('%d', count), entry)
    if seed ~= '' then
      -- The last eight seeds: a request that is repeated after more writes than that is executed again.
      call('HSET', key, 's', sub(seeds[i] .. seed .. ',', -8 * (#seed + 1)))
    end
    if member ~= '' then
      call('ZADD', references, 0, member)
    end
    if identity ~= '' then
      call('HSET', identities, token, identity)
    end
    add_digests(key, token, metadata, digests)
    if expires ~= '' then
      call('ZADD', expiries, expires, token)
    end
    if sad == '' then
      if count > 1 then
        call('DEL', sad_key)
      end
    elseif sad_expires == '0' then
      call('SET', sad_key, sad)
    else
      call('SET', sad_key, sad, 'PXAT', sad_expires)
    end
    local stamp = format('%.0f', stored_at)
    places[#places + 1] = stamp
    places[#places + 1] = token
    changed[#changed + 1] = token
    replies[i + 1] = { 'ok', stamp, is_new and 1 or 0, 0 }
    if is_kept then
      keep_event(outbox, is_new and 1 or 2, token, entry, meta)
    end
    stored_at = stored_at + 1
  end
end
call('ZADD', times, unpack(places))
call('SADD', changed_logs, unpack(changed))
if counted ~= '' then
  call('HINCRBY', usage, counted, written)
end
return replies
