-- complete-logs
-- Completes the log field of items of one bucket that the first version wrote: adds the last 16 bytes of the newest entry.
-- KEYS  the item keys
-- Reply 'ok'
for i = 1, #KEYS do
  local n = redis.call('HGET', KEYS[i], 'n')
  if n and #n <= 16 then
    local tail = string.sub(redis.call('HGET', KEYS[i], n) or '', -16)
    if #tail == 16 then
      redis.call('HSET', KEYS[i], 'n', n .. tail)
    end
  end
end
return 'ok'
