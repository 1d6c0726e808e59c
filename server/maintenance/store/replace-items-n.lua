-- replace-items
-- Replaces records by re-encrypted ones, if they are still the ones that were read.
-- KEYS  the item keys
-- ARGV  for each record: number of its key, field, last 16 bytes that were read, new record
-- Reply number of replaced records
local call, replaced = redis.call, 0
for i = 1, #ARGV, 4 do
  local key = KEYS[tonumber(ARGV[i])]
  local have = call('HGET', key, ARGV[i + 1])
  if have and string.sub(have, -16) == ARGV[i + 2] then
    call('HSET', key, ARGV[i + 1], ARGV[i + 3])
    replaced = replaced + 1
  end
end
return replaced
