-- Prepended to the scripts that read or record the heads of logs.
local NONE = string.rep('\0', 16)

-- The last 16 bytes of an entry; zeros for a missing one.
local function tag_of(entry)
  return entry and #entry >= 16 and string.sub(entry, -16) or NONE
end

-- Returns a function that gives the note of a removed log by its token. There are few notes, and mostly none.
local function notes_of(key)
  if redis.call('EXISTS', key) == 0 then
    return function()
      return ''
    end
  end
  return function(token)
    return redis.call('HGET', key, token) or ''
  end
end
