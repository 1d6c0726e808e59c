-- prelude
-- Part of each script that ends an attempt of a job.

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
