-- Prepended to the scripts that change the metadata index of a bucket.

-- The members of the metadata index that a token has for its digests, 8 bytes each.
local function each_digest(digests, token, act)
  for at = 1, #digests, 8 do
    act(string.sub(digests, at, at + 7) .. token .. struct.pack('>I2', #token))
  end
end

-- Adds an item to the metadata index.
local function add_digests(item, token, metadata, digests)
  if digests ~= '' then
    redis.call('HSET', item, 'y', digests)
    each_digest(digests, token, function(member)
      redis.call('ZADD', metadata, 0, member)
    end)
  end
end

-- Removes an item from the metadata index.
local function drop_digests(item, token, metadata)
  local digests = redis.call('HGET', item, 'y')
  if digests then
    each_digest(digests, token, function(member)
      redis.call('ZREM', metadata, member)
    end)
    redis.call('HDEL', item, 'y')
  end
end

-- Removes an item from the metadata index and the expiries.
local function drop_facts(item, token, metadata, expiries)
  drop_digests(item, token, metadata)
  redis.call('ZREM', expiries, token)
end
