-- forget-items
-- Removes what a restore has written of some items of one bucket, before it writes them as they were copied later.
-- KEYS  1 time index  2 reference index  3 metadata index  4 expiries, then for each item: the item, its sad
-- ARGV  for each item: token | reference index member or ''
local call = redis.call
for i = 1, #ARGV / 2 do
  local item, token, member = KEYS[3 + 2 * i], ARGV[2 * i - 1], ARGV[2 * i]
  drop_facts(item, token, KEYS[3], KEYS[4])
  call('ZREM', KEYS[1], token)
  if member ~= '' then
    call('ZREM', KEYS[2], member)
  end
  call('DEL', item, KEYS[4 + 2 * i])
end
return 'ok'
