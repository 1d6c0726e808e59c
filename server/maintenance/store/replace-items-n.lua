-- replace-items
-- Replaces records by re-encrypted ones, if they are still the ones that were read.
-- KEYS  the item keys
-- ARGV  for each record: number of its key, field, last 16 bytes that were read, new record
-- Reply number of replaced records
local call, replaced = redis.call, 0
for i = 1, #ARGV, 4 do
  local key, field, tag, record = KEYS[tonumber(ARGV[i])], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local have = call('HGET', key, field)
  if have and string.sub(have, -16) == tag then
    call('HSET', key, field, record)
    replaced = replaced + 1
  end
end
return replaced
