#!lua flags=allow-oom
-- append-audit
-- Appends entries to a security log, if its head is still the one that they are encrypted to follow. Also in a full
-- Redis (allow-oom), since deletions must work and be logged; entries are small, and their number is limited.
-- KEYS  1 chain (hash: sequence -> entry, h head, o start, w the newest batch of each writer, as lines `writer batch`)
-- ARGV  1 head seen, '' for none  2 writer  3 number of its batch  4 new head  5 sequence of the first entry  6... entries
-- Reply {'ok'} | {'changed', head} | {'damaged'}: there is an entry after the head
local chain = KEYS[1]
local seen, writer, batch, head, first = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local have = redis.call('HMGET', chain, 'h', 'w', first)
local others = {}
for other, newest in string.gmatch(have[2] or '', '(%S+) (%d+)') do
  if other ~= writer then
    others[#others + 1] = other .. ' ' .. newest
  elseif newest == batch then
    -- The same batch again: the reply to the first call was lost.
    return { 'ok' }
  end
end
if (have[1] or '') ~= seen then
  return { 'changed', have[1] or '' }
end
if have[3] then
  return { 'damaged' }
end
-- Keep the latest 64 writers: one that has not written for longer has no call in flight.
while #others > 63 do
  table.remove(others, 1)
end
others[#others + 1] = writer .. ' ' .. batch
for i = 6, #ARGV do
  redis.call('HSET', chain, string.format('%d', first + i - 6), ARGV[i])
end
redis.call('HSET', chain, 'h', head, 'w', table.concat(others, '\n'))
return { 'ok' }
