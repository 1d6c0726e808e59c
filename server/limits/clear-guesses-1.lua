-- clear-guesses
-- After a right guess that was counted: ends the count and the lock of its source, and marks that as one that succeeded. Of
-- its network only this guess is subtracted.
-- KEYS  1 guesses of the source  2 guesses of its network  3 marker of a source that succeeded
-- ARGV  1 ms that the marker is kept
-- Reply 'ok'
redis.call('DEL', KEYS[1])
if tonumber(redis.call('GET', KEYS[2]) or '0') > 1 then
  redis.call('DECR', KEYS[2])
else
  redis.call('DEL', KEYS[2])
end
redis.call('SET', KEYS[3], '1', 'PX', ARGV[1])
return 'ok'
