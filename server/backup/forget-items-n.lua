-- forget-items
-- Removes what a restore has written of some items of one bucket, before it writes them as they were copied later.
-- KEYS  1 time index  2 reference index  3 metadata index  4 expiries, then for each item: the item, its sad
-- ARGV  for each item: token | reference index member or ''
local call = redis.call
local times, references, metadata, expiries = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
for i = 1, #ARGV / 2 do
  local item, token, member = KEYS[3 + 2 * i], ARGV[2 * i - 1], ARGV[2 * i]
  drop_facts(item, token, metadata, expiries)
  call('ZREM', times, token)
  if member ~= '' then
    call('ZREM', references, member)
  end
  call('DEL', item, KEYS[4 + 2 * i])
end
return 'ok'
