-- watch-fence
-- Sets what the outbox of events of a bucket keeps, unless that was set for newer subscriptions, or the key is deleted.
-- KEYS  1 fence
-- ARGV  1 version of the account's subscriptions  2 what it keeps, see `bucket-prelude.lua`
--       3 lifetime in ms of the fence of a key that is being created, or ''
local version, kept, lifetime_ms = unpack(ARGV)
local have = redis.call('HMGET', KEYS[1], 'w', 'c')
local newest = have[1] and tonumber(string.match(have[1], '^%d+')) or 0
if newest > tonumber(version) or have[2] == '9000000000000000' then
  return 'newer'
end
local is_new = redis.call('EXISTS', KEYS[1]) == 0
redis.call('HSET', KEYS[1], 'w', version .. ' ' .. kept)
if lifetime_ms == '' then
  redis.call('PERSIST', KEYS[1])
elseif is_new then
  redis.call('PEXPIRE', KEYS[1], lifetime_ms)
end
return 'ok'
