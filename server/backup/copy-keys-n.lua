-- copy-keys
-- Reads complete keys of one slot, as of one moment.
-- KEYS  the keys
-- Reply a list for each key: {type, expiry in ms or a negative number, parts of the value}; type 'none' if it does not exist
local function parts_of(key, kind)
  if kind == 'hash' then
    return redis.call('HGETALL', key)
  elseif kind == 'zset' then
    return redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  elseif kind == 'set' then
    return redis.call('SMEMBERS', key)
  elseif kind == 'string' then
    return { redis.call('GET', key) }
  elseif kind == 'list' then
    return redis.call('LRANGE', key, 0, -1)
  end
  return {}
end
local out = {}
for i = 1, #KEYS do
  local kind = redis.call('TYPE', KEYS[i]).ok
  out[i] = { kind, redis.call('PEXPIRETIME', KEYS[i]), parts_of(KEYS[i], kind) }
end
return out
