-- advance-log
-- Records how many entries of an item's log were delivered, unless another server did, or the log is another one by now.
-- KEYS  1 item  2 undelivered logs
-- ARGV  1 token  2 number that was read  3 number now  4 last 16 bytes of that entry, or '' for none
-- Reply 'ok' | 'changed'
local token, read, delivered, tag = unpack(ARGV)
local call = redis.call
if call('HGET', KEYS[2], token) ~= read then
  return 'changed'
end
local entry = call('HGET', KEYS[1], delivered) or ''
if delivered ~= read and string.sub(entry, -16) ~= tag then
  return 'changed'
end
local recorded = tonumber(call('HGET', KEYS[1], 'r') or '0') or 0
if recorded > tonumber(delivered) then
  call('HSET', KEYS[2], token, delivered)
else
  call('HDEL', KEYS[2], token)
end
return 'ok'
