-- create-account
-- Adds an account.
-- KEYS  1 accounts (hash: name -> sealed record)  2 names of deleted accounts (hash: name -> ms)
-- ARGV  1 name  2 sealed record  3 '1' if the name of a deleted account may be used again
-- Reply 'ok' | 'exists'
local accounts, former = KEYS[1], KEYS[2]
local name, record, may_reuse = ARGV[1], ARGV[2], ARGV[3] == '1'
if redis.call('HEXISTS', accounts, name) == 1 then
  return 'exists'
end
if not may_reuse and redis.call('HEXISTS', former, name) == 1 then
  return 'exists'
end
redis.call('HSET', accounts, name, record)
return 'ok'
