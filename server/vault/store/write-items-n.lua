-- write-items
-- Stores items of one bucket, or replaces them, each with its log entry. All are checked before the first is written.
-- KEYS  1 fence  2 time index  3 reference index  4 identity tags (hash)  5 tokens whose logs have changed
--       6 metadata index  7 expiries, then for each item its hash, and its sad (string); no item is there twice.
--       Last, if the items come without what they have alike, where that is for two minutes
-- ARGV  1 generation  2 bytes of each part before what they have alike  3 that, or '' where Redis has it, then for each item:
--       token | envelope and content | metadata | sad or '' | sad expiry ms or 0 | reference index member or ''
--       | log entry, behind what it names | '' to store, or the last 16 bytes of the metadata that this write replaces
--       | identity tag or '' | seed of an idempotent request or '' | time of expiry ms or '' | digests of its metadata or ''
-- Reply {'closed'|'stale'|'unshared'} | {'ok', for each item:
--   {'ok', stored_at ms, 1 if there was none} | {'clash'|'changed'|'damaged'}
--   | {'exists', log length, tail, 1 unless it has expired}: the entry of a new item must name what this log has}
local call, sub, find, format = redis.call, string.sub, string.find, string.format
local WIDTH = 12
local fence = call('HMGET', KEYS[1], 'g', 'c', 'l')
local now = now_ms()
if fence[2] and now < tonumber(fence[2]) then
  return { 'closed' }
end
local gen, newest_gen = tonumber(ARGV[1]), tonumber(fence[1] or '1')
if gen < newest_gen then
  return { 'stale' }
end

-- Whether the item is one: it was not removed by its expiry, nor is that due.
local function is_live(key, token)
  local due = call('ZSCORE', KEYS[7], token)
  return call('HEXISTS', key, 'c') == 1 and not (due and tonumber(due) <= now)
end

-- What the item becomes: a reply, or nil and its log's length and seeds.
local function check(key, at)
  local identity, seed = ARGV[at + 8], ARGV[at + 9]
  if identity ~= '' then
    local owner = call('HGET', KEYS[4], ARGV[at])
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
    return { 'ok', call('ZSCORE', KEYS[2], ARGV[at]) or 0, count == 1 and 1 or 0 }
  end
  local seen, named = named_by(ARGV[at + 6])
  if ARGV[at + 7] ~= '' then
    if not have[2] or sub(have[2], -16) ~= ARGV[at + 7] or call('HEXISTS', key, 'c') == 0 then
      return { 'changed' }
    end
  elseif count > 0 or seen ~= '0' then
    if count == 0 or seen == '0' or not is_log(n, call('HGET', key, seen), seen, named) then
      return { 'exists', count, tail, is_live(key, ARGV[at]) and 1 or 0 }
    end
  end
  return nil, count, seeds
end

local items = (#ARGV - 3) / WIDTH
local shared_key, before, shared = KEYS[8 + 2 * items], tonumber(ARGV[2]), ARGV[3]
if shared_key and shared == '' then
  shared = call('GET', shared_key)
  if not shared then
    return { 'unshared' }
  end
end
local function whole(part)
  return shared_key and part ~= '' and sub(part, 1, before) .. shared .. sub(part, before + 1) or part
end

local replies, counts, seeds = { 'ok' }, {}, {}
local written = 0
for i = 1, items do
  local at = (i - 1) * WIDTH + 4
  local reply, count, had = check(KEYS[6 + 2 * i], at)
  replies[i + 1] = reply or false
  if not reply then
    counts[i], seeds[i] = count, had
    written = written + 1
  end
end
if gen > newest_gen then
  -- A passphrase change was interrupted after its record was written: finish it here.
  call('HSET', KEYS[1], 'g', gen)
end
if written == 0 then
  return replies
end

-- Strictly after everything that the bucket has: a cursor may point there.
local floor, stored_at = tonumber(fence[3] or '0'), now
if floor >= now or call('ZCOUNT', KEYS[2], format('%.0f', now), '+inf') > 0 then
  local newest = call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')[2]
  stored_at = math.max(floor, tonumber(newest or '0')) + 1
end
if stored_at + written - 1 > now then
  call('HSET', KEYS[1], 'l', format('%.0f', stored_at + written - 1))
end

local places, changed = {}, {}
for i = 1, items do
  local count = counts[i]
  if count then
    local key, sad_key, at = KEYS[6 + 2 * i], KEYS[7 + 2 * i], (i - 1) * WIDTH + 4
    local token, seed, expires, digests = ARGV[at], ARGV[at + 9], ARGV[at + 10], ARGV[at + 11]
    local entry = sub(ARGV[at + 6], NAMED_BYTES + 1)
    local is_new = count == 0 or ARGV[at + 7] == '' and not is_live(key, token)
    if count > 0 then
      drop_facts(key, token, KEYS[6], KEYS[7])
    end
    count = count + 1
    call('HSET', key, 'c', whole(ARGV[at + 1]), 'm', ARGV[at + 2], 'n', log_field(count, entry), format('%d', count), entry)
    if seed ~= '' then
      -- The last eight seeds: a request that is repeated after more writes than that is executed again.
      call('HSET', key, 's', sub(seeds[i] .. seed .. ',', -8 * (#seed + 1)))
    end
    if ARGV[at + 5] ~= '' then
      call('ZADD', KEYS[3], 0, ARGV[at + 5])
    end
    if ARGV[at + 8] ~= '' then
      call('HSET', KEYS[4], token, ARGV[at + 8])
    end
    if digests ~= '' then
      call('HSET', key, 'y', digests)
      each_digest(digests, token, function(member)
        call('ZADD', KEYS[6], 0, member)
      end)
    end
    if expires ~= '' then
      call('ZADD', KEYS[7], expires, token)
    end
    if ARGV[at + 3] == '' then
      if count > 1 then
        call('DEL', sad_key)
      end
    elseif ARGV[at + 4] == '0' then
      call('SET', sad_key, whole(ARGV[at + 3]))
    else
      call('SET', sad_key, whole(ARGV[at + 3]), 'PXAT', ARGV[at + 4])
    end
    local stamp = format('%.0f', stored_at)
    places[#places + 1] = stamp
    places[#places + 1] = token
    changed[#changed + 1] = token
    replies[i + 1] = { 'ok', stamp, is_new and 1 or 0 }
    stored_at = stored_at + 1
  end
end
call('ZADD', KEYS[2], unpack(places))
call('SADD', KEYS[5], unpack(changed))
if ARGV[3] ~= '' then
  call('SET', shared_key, shared, 'PX', 120000)
end
return replies
