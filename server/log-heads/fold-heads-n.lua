-- fold-heads
-- Records the heads of some logs of one bucket, unless one of them was recorded, or removed, since it was read.
-- KEYS  1 recorded heads  2 tokens whose logs have changed  3 notes of removed logs
--       4 undelivered logs (hash: token -> entries that were delivered), then the items
-- ARGV  1 record that was read, or ''  2 new record  3 '1' if logs are delivered to a sink, or ''
--       then for each item: token, head that was read, length to record or ''
-- Reply 'ok' | 'changed'
local read_record, new_record, is_streamed = ARGV[1], ARGV[2], ARGV[3] ~= ''
local call, sub = redis.call, string.sub
if (call('HGET', KEYS[1], 'a') or '') ~= read_record then
  return 'changed'
end
local still = {}
for i = 1, #KEYS - 4 do
  local token, read = ARGV[3 * i + 1], ARGV[3 * i + 2]
  local now = head_of(KEYS[4 + i], call('HGET', KEYS[3], token))
  -- The log may have grown; all else must be as it was read.
  if sub(now, 5, 24) ~= sub(read, 5, 24) or sub(now, 41) ~= sub(read, 41) then
    return 'changed'
  end
  still[i] = now == read
end
call('HSET', KEYS[1], 'a', new_record)
for i = 1, #KEYS - 4 do
  local token, read, length = ARGV[3 * i + 1], ARGV[3 * i + 2], ARGV[3 * i + 3]
  if length ~= '' then
    local before = call('HGET', KEYS[4 + i], 'r') or '0'
    if is_streamed and tonumber(length) > (tonumber(before) or 0) then
      -- Recorded entries were delivered, unless there is a smaller number here.
      call('HSETNX', KEYS[4], token, before)
    end
    call('HSET', KEYS[4 + i], 'r', length)
  end
  if #read > 56 then
    call('HDEL', KEYS[3], token)
  end
  if still[i] then
    call('SREM', KEYS[2], token)
  end
end
return 'ok'
