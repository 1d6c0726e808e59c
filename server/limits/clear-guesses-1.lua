-- clear-guesses
-- After a right guess that was counted: ends the count and the lock of its source, and marks that as one that succeeded. Of
-- its network only this guess is subtracted.
-- KEYS  1 guesses of the source  2 guesses of its network  3 marker of a source that succeeded
-- ARGV  1 ms that the marker is kept
-- Reply 'ok'
local own, network, success = KEYS[1], KEYS[2], KEYS[3]
local keep_ms = ARGV[1]
redis.call('DEL', own)
if tonumber(redis.call('GET', network) or '0') > 1 then
  redis.call('DECR', network)
else
  redis.call('DEL', network)
end
redis.call('SET', success, '1', 'PX', keep_ms)
return 'ok'
