-- move-fence
-- Makes all writers and readers of an older generation of this bucket fail from now on.
-- KEYS  1 fence
-- ARGV  1 generation
local gen = ARGV[1]
if tonumber(redis.call('HGET', KEYS[1], 'g') or '1') < tonumber(gen) then
  redis.call('HSET', KEYS[1], 'g', gen)
end
return 'ok'
