-- read-heads
-- Reads the heads of some logs of one bucket, as of one moment.
-- KEYS  1 recorded heads  2 notes of removed logs, then the items
-- ARGV  the tokens of the items
-- Reply {record or '', a head per item}. A head is: length u32, recorded length u32 (4294967295: none), last 16 bytes of its first
--       entry, of its newest and of the one at the recorded length (zeros for missing ones), and then the note of a removed log of
--       this token. An invalid length counts as 0.
local tokens = ARGV
local note_of = notes_of(KEYS[2])

-- Most logs have one entry, which is read with the rest.
local function ends_at_one(n, have)
  return #n == 17 and string.byte(n) == 49 and is_end(string.sub(n, 2), have[3], have[4])
end

local function head_of(item, token)
  local have = redis.call('HMGET', item, 'n', 'r', '1', '2')
  local length, recorded, tail, tag = 0, 4294967295, NONE, NONE
  if have[1] then
    if ends_at_one(have[1], have) then
      length, tail = 1, string.sub(have[1], 2)
    else
      local ok, count, last = pcall(log_of, item, have[1])
      if ok then
        length, tail = count, last
      end
    end
  end
  if have[2] then
    recorded = tonumber(have[2]) or 0
    tag = tag_of(have[2] == '1' and have[3] or redis.call('HGET', item, have[2]))
  end
  return struct.pack('<I4I4', length, recorded) .. tag_of(have[3]) .. tail .. tag .. note_of(token)
end

local out = { redis.call('HGET', KEYS[1], 'a') or '' }
for i = 1, #tokens do
  out[i + 1] = head_of(KEYS[2 + i], tokens[i])
end
return out
