-- read-audit-marks
-- Reads both ends of a security log and its number of entries, at one moment.
-- KEYS  1 chain
-- Reply {head or '', start or '', entries}
local have = redis.call('HMGET', KEYS[1], 'h', 'o', 'w')
local entries = redis.call('HLEN', KEYS[1])
for i = 1, 3 do
  if have[i] then
    entries = entries - 1
  end
end
return { have[1] or '', have[2] or '', entries }
