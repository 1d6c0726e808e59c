-- Prepended to every script that uses a bucket. A bucket's fence is a hash:
--   g  newest generation whose writers may write (absent: 1)
--   c  closed until this time, ms (absent: open)
--   o  id of the deletion that closed it
--   l  newest stored_at that was ahead of the clock (absent: none)
local function now_ms()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

-- nil if a request that started under generation gen may continue, otherwise 'closed' or 'stale'.
local function fence_state(fence, gen)
  local f = redis.call('HMGET', fence, 'g', 'c')
  if f[2] and now_ms() < tonumber(f[2]) then
    return 'closed'
  end
  local newest = tonumber(f[1] or '1')
  if gen < newest then
    return 'stale'
  end
  if gen > newest then
    -- A passphrase change was interrupted after its record was written: finish it here.
    redis.call('HSET', fence, 'g', gen)
  end
  return nil
end

-- The last 16 bytes of the newest log entry, '' for an empty log.
local function tail_of(item, count)
  if count == 0 then
    return ''
  end
  return string.sub(redis.call('HGET', item, tostring(count)), -16)
end
