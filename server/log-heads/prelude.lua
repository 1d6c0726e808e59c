-- Prepended to the scripts that read or record the heads of logs, after the prelude of items.
local NONE = string.rep('\0', 16)

-- Returns the head of an item's log: length u32, recorded length u32 (4294967295: none), last 16 bytes of its first entry, of
-- its newest and of the one at the recorded length (zeros for missing ones), and then the note of a removed log of this token.
-- An invalid length counts as 0.
local function head_of(item, note)
  local have = redis.call('HMGET', item, 'n', 'r', '1')
  local length, recorded, first, tail, tag = 0, 4294967295, NONE, NONE, NONE
  if have[1] then
    local ok, count, last = pcall(log_of, item, have[1])
    if ok then
      length, tail = count, last
    end
  end
  if have[2] then
    recorded = tonumber(have[2]) or 0
    local at = redis.call('HGET', item, have[2])
    tag = at and #at >= 16 and string.sub(at, -16) or NONE
  end
  if have[3] and #have[3] >= 16 then
    first = string.sub(have[3], -16)
  end
  return struct.pack('<I4I4', length, recorded) .. first .. tail .. tag .. (note or '')
end
