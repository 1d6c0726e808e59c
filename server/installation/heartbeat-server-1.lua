-- heartbeat-server
-- Records that a server runs, or removes it, and lists all running servers.
-- KEYS  1 servers
-- ARGV  1 id of the server, or ''  2 its entry, or '' to remove it  3 ms until the next heartbeat is due
-- Reply id and entry of each running server
local own, own_entry, lease_ms = unpack(ARGV)
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
local expired = {}
local live = {}
local entries = redis.call('HGETALL', KEYS[1])
for at = 1, #entries, 2 do
  local lease_end, entry = string.match(entries[at + 1], '^(%d+) (.*)$')
  if entries[at] == own or not lease_end or tonumber(lease_end) <= ms then
    expired[#expired + 1] = entries[at]
  else
    live[#live + 1] = entries[at]
    live[#live + 1] = entry
  end
end
if #expired > 0 then
  redis.call('HDEL', KEYS[1], unpack(expired))
end
if own_entry ~= '' then
  redis.call('HSET', KEYS[1], own, string.format('%.0f', ms + lease_ms) .. ' ' .. own_entry)
  live[#live + 1] = own
  live[#live + 1] = own_entry
end
return live
