-- advance-log
-- Notes how many entries of an item's log were delivered, unless another one did, or the log is another one by now.
-- KEYS  1 item  2 undelivered logs
-- ARGV  1 token  2 number that was read  3 number now  4 last 16 bytes of that entry, or '' for none
-- Reply 'ok' | 'changed'
local call = redis.call
if call('HGET', KEYS[2], ARGV[1]) ~= ARGV[2] then
  return 'changed'
end
local entry = call('HGET', KEYS[1], ARGV[3]) or ''
if ARGV[3] ~= ARGV[2] and string.sub(entry, -16) ~= ARGV[4] then
  return 'changed'
end
local recorded = tonumber(call('HGET', KEYS[1], 'r') or '0') or 0
if recorded > tonumber(ARGV[3]) then
  call('HSET', KEYS[2], ARGV[1], ARGV[3])
else
  call('HDEL', KEYS[2], ARGV[1])
end
return 'ok'
