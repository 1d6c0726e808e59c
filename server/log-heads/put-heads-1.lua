-- put-heads
-- Replaces what an account says of the heads of its logs, if it is still what was read.
-- KEYS  1 heads of the account (hash: key id -> its buckets, `!` and key id -> proof of its deletion, m mark)
-- ARGV  1 mark that was read, or ''  2 new mark  3 key id  4 its buckets as they were read, or ''  5 new ones, or '' to remove
--       them with the proof
-- Reply 'ok' | 'changed'
local have = redis.call('HMGET', KEYS[1], 'm', ARGV[3])
if (have[1] or '') ~= ARGV[1] or (have[2] or '') ~= ARGV[4] then
  return 'changed'
end
redis.call('HSET', KEYS[1], 'm', ARGV[2])
if ARGV[5] ~= '' then
  redis.call('HSET', KEYS[1], ARGV[3], ARGV[5])
else
  redis.call('HDEL', KEYS[1], ARGV[3], '!' .. ARGV[3])
end
return 'ok'
