-- note-reseal
-- Notes the progress of a reseal while its run has the claim, which ends with the key.
-- KEYS  1 progress  2 claim
-- ARGV  1 run  2 generation  3 items in all  4 items that are done  5 time of the end in ms, or ''
-- Reply 'ok' | 'lost'
local run, generation, total, done, finished = unpack(ARGV)
if redis.call('GET', KEYS[2]) ~= run then
  return 'lost'
end
redis.call('HSET', KEYS[1], 'gen', generation, 'total', total, 'done', done)
if finished == '' then
  redis.call('HDEL', KEYS[1], 'finished')
else
  redis.call('HSET', KEYS[1], 'finished', finished)
end
return 'ok'
