-- fold-heads
-- Records the heads of some logs of one bucket, unless one of them was recorded, or removed, since it was read.
-- KEYS  1 recorded heads  2 tokens whose logs have changed  3 notes of removed logs
--       4 undelivered logs (hash: token -> entries that were delivered), then the items
-- ARGV  1 record that was read, or ''  2 new record  3 '1' if logs are delivered to a sink, or ''
--       then for each item: token, head that was read, length to record or ''
-- Reply 'ok' | 'changed'
local read_record, new_record, is_streamed = ARGV[1], ARGV[2], ARGV[3] ~= ''
local call, sub = redis.call, string.sub
local HEAD_BYTES = 56
if (call('HGET', KEYS[1], 'a') or '') ~= read_record then
  return 'changed'
end
local note_of = notes_of(KEYS[3])
local before, covered = {}, {}
for i = 1, #KEYS - 4 do
  local token, read = ARGV[3 * i + 1], ARGV[3 * i + 2]
  local n, r, first = unpack(call('HMGET', KEYS[4 + i], 'n', 'r', '1'))
  local length, recorded = struct.unpack('<I4I4', read)
  local tag = r and tag_of(call('HGET', KEYS[4 + i], r)) or NONE
  -- The log may have grown; all else must be as it was read.
  local is_same = (r and (tonumber(r) or 0) or 4294967295) == recorded and tag_of(first) == sub(read, 9, 24)
  if not is_same or tag .. note_of(token) ~= sub(read, 41) then
    return 'changed'
  end
  before[i] = r or '0'
  -- An item of the first version has only the length in n.
  local count = string.format('%d', length)
  if (n or '0') == count .. (n and #n > 16 and sub(read, 25, 40) or '') then
    covered[#covered + 1] = token
  end
end
call('HSET', KEYS[1], 'a', new_record)
for i = 1, #KEYS - 4 do
  local token, read, length = ARGV[3 * i + 1], ARGV[3 * i + 2], ARGV[3 * i + 3]
  if length ~= '' then
    if is_streamed and tonumber(length) > (tonumber(before[i]) or 0) then
      -- Recorded entries were delivered, unless there is a smaller number here.
      call('HSETNX', KEYS[4], token, before[i])
    end
    call('HSET', KEYS[4 + i], 'r', length)
  end
  if #read > HEAD_BYTES then
    call('HDEL', KEYS[3], token)
  end
end
if #covered > 0 then
  call('SREM', KEYS[2], unpack(covered))
end
return 'ok'
