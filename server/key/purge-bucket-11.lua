-- purge-bucket
-- Removes some items of a bucket of a deleted key; call it until it replies 0. The fence is kept.
-- KEYS  1 time index  2 reference index  3 identity tags  4 recorded heads
--       5 tokens whose logs have changed  6 notes of removed logs  7 undelivered logs
--       8 metadata index  9 expiries  10 readings  11 outbox, which stays until it is delivered
-- ARGV  1 item key prefix  2 sad key prefix (both in this bucket's hash tag)  3 maximum number of items
--       4 '1' if logs are delivered to a sink, or ''
-- Reply number of removed items
local item_prefix, sad_prefix, max, is_streamed = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4] ~= ''
local last = max - 1
local index = KEYS[1]
local tokens = redis.call('ZRANGE', index, 0, last)
if #tokens == 0 then
  -- Expired items are in this index alone.
  index = KEYS[9]
  tokens = redis.call('ZRANGE', index, 0, last)
end
for i = 1, #tokens do
  local token = tokens[i]
  local undelivered = is_streamed and undelivered_of(item_prefix .. token, token, KEYS[7])
  redis.call('UNLINK', item_prefix .. token, sad_prefix .. token)
  if undelivered then
    keep_undelivered(undelivered, token, KEYS[7], KEYS[11])
  end
end
if #tokens > 0 then
  redis.call('ZREMRANGEBYRANK', index, 0, #tokens - 1)
else
  redis.call('UNLINK', unpack(KEYS, 1, 10))
end
return #tokens
