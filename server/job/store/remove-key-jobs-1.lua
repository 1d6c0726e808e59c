-- remove-key-jobs
-- Removes those of some jobs that belong to a key, in every phase. An attempt in flight can then record nothing more.
-- KEYS  1 directory of the account's jobs
-- ARGV  1 job key prefix (in the account's hash tag)  2 id of the key  3… ids of jobs
-- Reply ids of removed jobs
local prefix, kid = ARGV[1], ARGV[2]
local removed = {}
for i = 3, #ARGV do
  local id = ARGV[i]
  local job = prefix .. id
  if redis.call('HGET', job, 'i') == kid then
    redis.call('UNLINK', job)
    redis.call('ZREM', KEYS[1], id)
    removed[#removed + 1] = id
  end
end
return removed
