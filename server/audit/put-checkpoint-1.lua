-- put-checkpoint
-- Stores a checkpoint, unless one of a later entry is stored.
-- KEYS  1 security logs (hash: account id -> `SEQUENCE JSON`, or '' before the first checkpoint)
-- ARGV  1 account id  2 sequence  3 checkpoint
-- Reply 'ok' | 'older'
local logs = KEYS[1]
local account, sequence, checkpoint = ARGV[1], ARGV[2], ARGV[3]
local have = redis.call('HGET', logs, account)
if have and tonumber(string.match(have, '^%d+') or '0') >= tonumber(sequence) then
  return 'older'
end
redis.call('HSET', logs, account, sequence .. ' ' .. checkpoint)
return 'ok'
