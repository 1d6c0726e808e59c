-- read-heads
-- Reads the heads of some logs of one bucket, as of one moment.
-- KEYS  1 recorded heads  2 notes of removed logs, then the items
-- ARGV  the tokens of the items
-- Reply {record or '', a head per item (see prelude.lua)}
local tokens = ARGV
local out = { redis.call('HGET', KEYS[1], 'a') or '' }
for i = 1, #tokens do
  out[i + 1] = head_of(KEYS[2 + i], redis.call('HGET', KEYS[2], tokens[i]))
end
return out
