-- survey-items
-- Reads many complete items of one bucket into one string.
-- KEYS  1 time index  2 identity tags, then the item keys, then their sad keys in the same order
-- ARGV  1 maximum number of log entries of each item  2 bytes after which to stop, then the tokens
-- Reply {blob, items in it}. The blob is one record per item, in order:
--   u32 each: length of item, metadata, sad and identity tag; log length; fields of the hash; log entries that follow;
--   flags (1 = a key has another type, or the log's length is none, 2 = the item has seeds,
--   4 = the length of its log is recorded, 8 = it is in the metadata index); f64 each: score in the time index
--   or -1, expiry of the sad in ms, -1 never, -2 no sad; the four byte strings; u32 length and bytes of each entry.
local call, pcall, pack = redis.call, redis.pcall, struct.pack
local total = (#KEYS - 2) / 2
local entries_max, bytes_max = tonumber(ARGV[1]), tonumber(ARGV[2])
local out, pieces, bytes, items = {}, 0, 0, 0
local function add(piece)
  pieces = pieces + 1
  out[pieces] = piece
  bytes = bytes + #piece
end
for i = 1, total do
  local item, sad_key, token, flags = KEYS[2 + i], KEYS[2 + total + i], ARGV[2 + i], 0
  local have, fields, entries = pcall('HMGET', item, 'c', 'm', 'n', 's', 'r', 'y'), 0, {}
  if have.err then
    have, flags = {}, 1
  else
    fields = call('HLEN', item)
  end
  -- The last 16 bytes of the newest entry follow the length.
  local length, tail = have[3] or '0', ''
  if #length > 16 then
    length, tail = string.sub(length, 1, -17), string.sub(length, -16)
  end
  local count = tonumber(length)
  if not count or count < 0 or count > 4294967295 or count % 1 ~= 0 then
    count, flags = 0, 1
  end
  local names = {}
  for n = 1, math.min(count, entries_max) do
    names[n] = string.format('%d', n)
  end
  if #names > 0 then
    entries = call('HMGET', item, unpack(names))
  end
  if tail ~= '' and flags == 0 and string.sub(call('HGET', item, string.format('%d', count)) or '', -16) ~= tail then
    flags = 1
  end
  local sad = pcall('GET', sad_key)
  if type(sad) == 'table' then
    sad, flags = false, 1
  end
  if have[4] then
    flags = flags + 2
  end
  if have[5] then
    flags = flags + 4
  end
  if have[6] then
    flags = flags + 8
  end
  local tag = call('HGET', KEYS[2], token) or ''
  local score = tonumber(call('ZSCORE', KEYS[1], token) or '-1')
  local c, m = have[1] or '', have[2] or ''
  sad = sad or ''
  add(pack('>I4I4I4I4I4I4I4I4dd', #c, #m, #sad, #tag, count, fields, #names, flags, score, call('PEXPIRETIME', sad_key)))
  add(c)
  add(m)
  add(sad)
  add(tag)
  for n = 1, #names do
    local entry = entries[n] or ''
    add(pack('>I4', #entry))
    add(entry)
  end
  items = i
  if bytes > bytes_max then
    break
  end
end
return { table.concat(out), items }
