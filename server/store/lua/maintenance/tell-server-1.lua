-- tell-server
-- KEYS  1 servers
-- ARGV  1 id of the server  2 what it is; empty: it leaves  3 ms until it has to tell again
-- Reply id and what it is, of every server whose time is not over
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
local over = {}
local live = {}
local entries = redis.call('HGETALL', KEYS[1])
for at = 1, #entries, 2 do
  local expires, entry = string.match(entries[at + 1], '^(%d+) (.*)$')
  if entries[at] == ARGV[1] or not expires or tonumber(expires) <= ms then
    over[#over + 1] = entries[at]
  else
    live[#live + 1] = entries[at]
    live[#live + 1] = entry
  end
end
if #over > 0 then
  redis.call('HDEL', KEYS[1], unpack(over))
end
if ARGV[2] ~= '' then
  redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', ms + ARGV[3]) .. ' ' .. ARGV[2])
  live[#live + 1] = ARGV[1]
  live[#live + 1] = ARGV[2]
end
return live
