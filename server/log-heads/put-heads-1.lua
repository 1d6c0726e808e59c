-- put-heads
-- Replaces the mark of an account's heads and the entry of one key, if both are still as they were read.
-- KEYS  1 heads of the account (hash: key id -> its buckets, `!` and key id -> proof of its deletion, m mark)
-- ARGV  1 mark that was read, or ''  2 new mark  3 key id  4 its buckets as they were read, or ''  5 new ones, or '' to remove
--       them with the proof
-- Reply 'ok' | 'changed'
local read_mark, new_mark, kid, read_buckets, new_buckets = unpack(ARGV)
local have = redis.call('HMGET', KEYS[1], 'm', kid)
if (have[1] or '') ~= read_mark or (have[2] or '') ~= read_buckets then
  return 'changed'
end
redis.call('HSET', KEYS[1], 'm', new_mark)
if new_buckets ~= '' then
  redis.call('HSET', KEYS[1], kid, new_buckets)
else
  redis.call('HDEL', KEYS[1], kid, '!' .. kid)
end
return 'ok'
