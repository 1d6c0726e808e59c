-- prelude
-- Part of each script that ends an attempt of a job, or a job.

-- The longest history that is kept, in bytes; the oldest attempts go.
local HISTORY_MAX = 4096

-- Appends the outcome of the attempt in flight to a history: 'h' has the attempts to send the request, 't' those of its
-- webhook, each as `begin ms,duration ms,status,code;`. Without an entry the outcome is unknown.
local function endOf(job, phase, entry)
  local have = redis.call('HMGET', job, 'f', 'b', phase == 'send' and 'h' or 't')
  if not have[1] or have[1] == '' or not have[2] then
    return
  end
  if entry == '' then
    entry = '0,,outcome_unknown'
  end
  local history = (have[3] or '') .. have[2] .. ',' .. entry .. ';'
  while #history > HISTORY_MAX do
    history = string.sub(history, string.find(history, ';', 1, true) + 1)
  end
  redis.call('HSET', job, phase == 'send' and 'h' or 't', history)
  redis.call('HDEL', job, 'b')
end

-- Moves a job to those that are only listed; KEYS as in finish-job. If `again`, its id stays reserved for a time.
local function moveToEnded(id, again, reserved_ms, now_ms)
  local created = redis.call('ZSCORE', KEYS[2], id) or now_ms
  redis.call('RENAME', KEYS[1], KEYS[3])
  local waiting = redis.call('HGET', KEYS[3], 's')
  if waiting then
    redis.call('ZREM', waiting, id)
  end
  redis.call('ZADD', KEYS[4], created, id)
  redis.call('ZREM', KEYS[2], id)
  if again then
    redis.call('HSET', KEYS[1], 'k', 1)
    redis.call('PEXPIRE', KEYS[1], reserved_ms)
  end
end
