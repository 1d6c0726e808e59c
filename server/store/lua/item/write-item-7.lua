-- write-item
-- Stores an item, or replaces one, with its log entry, in one step.
-- KEYS  1 item (hash)  2 sad (string)  3 time index  4 reference index  5 fence  6 identity tags (hash)  7 tokens whose logs have changed
-- ARGV  1 token  2 generation  3 envelope and content  4 metadata  5 sad or ''  6 sad expiry ms or 0
--       7 reference index member or ''  8 log entry, behind what it names
--       9 '' to store, or the last 16 bytes of the metadata that this write replaces
--       10 identity tag or ''  11 seed of an idempotent request or ''
-- Reply {'ok', stored_at ms} | {'closed'|'stale'|'clash'|'changed'}
--   | {'exists', log length, tail}: the entry of a new item must name what this log has
local call = redis.call
local fence = call('HMGET', KEYS[5], 'g', 'c', 'l')
local now = now_ms()
if fence[2] and now < tonumber(fence[2]) then
  return { 'closed' }
end
local gen, newest_gen = tonumber(ARGV[2]), tonumber(fence[1] or '1')
if gen < newest_gen then
  return { 'stale' }
end
if gen > newest_gen then
  -- A passphrase change was interrupted after its record was written: finish it here.
  call('HSET', KEYS[5], 'g', gen)
end
if ARGV[10] ~= '' then
  local owner = call('HGET', KEYS[6], ARGV[1])
  if owner and owner ~= ARGV[10] then
    return { 'clash' }
  end
end

local seen, named, at = named_by(ARGV[8])
local entry = string.sub(ARGV[8], at)
local have = call('HMGET', KEYS[1], 'n', 'm', 's')
local count, tail = 0, ''
if have[1] then
  count, tail = log_of(KEYS[1], have[1])
end
local seeds = have[3] or ''
if ARGV[11] ~= '' and string.find(seeds, ARGV[11] .. ',', 1, true) then
  -- This request has already written, and its reply was lost. Later writes of others are kept.
  return { 'ok', call('ZSCORE', KEYS[3], ARGV[1]) }
end
if ARGV[9] ~= '' then
  if not have[2] or string.sub(have[2], -16) ~= ARGV[9] then
    return { 'changed' }
  end
elseif count > 0 or seen ~= '0' then
  if count == 0 or seen == '0' or not is_log(have[1], call('HGET', KEYS[1], seen), seen, named) then
    return { 'exists', count, tail }
  end
end

-- Strictly after everything that the bucket has: a cursor may point there.
local floor, stored_at = tonumber(fence[3] or '0'), string.format('%.0f', now)
if floor >= now or call('ZCOUNT', KEYS[3], stored_at, '+inf') > 0 then
  local newest = call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')[2]
  stored_at = string.format('%.0f', math.max(floor, tonumber(newest or '0')) + 1)
  call('HSET', KEYS[5], 'l', stored_at)
end

count = count + 1
call('HSET', KEYS[1], 'c', ARGV[3], 'm', ARGV[4], 'n', log_field(count, entry), string.format('%d', count), entry)
call('ZADD', KEYS[3], stored_at, ARGV[1])
call('SADD', KEYS[7], ARGV[1])
if ARGV[11] ~= '' then
  -- The last eight seeds: a request that is repeated after more writes than that is executed again.
  call('HSET', KEYS[1], 's', string.sub(seeds .. ARGV[11] .. ',', -8 * (#ARGV[11] + 1)))
end
if ARGV[7] ~= '' then
  call('ZADD', KEYS[4], 0, ARGV[7])
end
if ARGV[10] ~= '' then
  call('HSET', KEYS[6], ARGV[1], ARGV[10])
end
if ARGV[5] == '' then
  if count > 1 then
    call('DEL', KEYS[2])
  end
elseif ARGV[6] == '0' then
  call('SET', KEYS[2], ARGV[5])
else
  call('SET', KEYS[2], ARGV[5], 'PXAT', ARGV[6])
end
return { 'ok', stored_at }
