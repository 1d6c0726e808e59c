-- create-key
-- Stores a new key and adds it to the directory, unless its account is being deleted.
-- KEYS  1 key record  2 directory of the account's keys  3 mark of a closed account
-- ARGV  1 sealed record  2 user
-- Reply 'ok' | 'exists' | 'closed'
local record, user = unpack(ARGV)
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 'exists'
end
if redis.call('EXISTS', KEYS[3]) == 1 then
  return 'closed'
end
redis.call('SET', KEYS[1], record)
redis.call('ZADD', KEYS[2], 0, user)
return 'ok'
