-- move-fence
-- Makes every writer and reader of an older generation of this bucket fail from now on.
-- KEYS  1 fence
-- ARGV  1 generation
if tonumber(redis.call('HGET', KEYS[1], 'g') or '1') < tonumber(ARGV[1]) then
  redis.call('HSET', KEYS[1], 'g', ARGV[1])
end
return 'ok'
