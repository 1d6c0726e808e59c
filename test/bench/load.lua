-- Sends the requests of a plan (plan.ts) and prints what came of them as one line of JSON.
-- Arguments: file of the request, file of the lines or '-', first number of the sequence.

local function read_all(path)
  local file = assert(io.open(path, 'rb'))
  local text = file:read('*a')
  file:close()
  return text
end

-- The request cut at its placeholders: texts at odd places, placeholders at even ones.
local pieces = {}
local lines = {}
local n = 0

local function cut(text)
  local at = 1
  while true do
    local from, to, name = text:find('@(%u+)@', at)
    if not from then
      break
    end
    pieces[#pieces + 1] = text:sub(at, from - 1)
    pieces[#pieces + 1] = name
    at = to + 1
  end
  pieces[#pieces + 1] = text:sub(at)
end

function init(args)
  cut(read_all(args[1]))
  if args[2] ~= '-' then
    for line in io.lines(args[2]) do
      lines[#lines + 1] = line
    end
  end
  n = tonumber(args[3])
  math.randomseed(os.time())
end

function request()
  if #pieces == 1 then
    return pieces[1]
  end
  local values = { SEQ = string.format('%010.0f', n) }
  n = n + 1
  if #lines > 0 then
    values.LINE = lines[math.random(#lines)]
  end
  local out = {}
  for i, piece in ipairs(pieces) do
    out[i] = i % 2 == 1 and piece or values[piece]
  end
  return table.concat(out)
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    'RESULT {"requests":%d,"seconds":%f,"p50Ms":%f,"p99Ms":%f,"p999Ms":%f,"errors":%d}\n',
    summary.requests,
    summary.duration / 1e6,
    latency:percentile(50) / 1e3,
    latency:percentile(99) / 1e3,
    latency:percentile(99.9) / 1e3,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout
  ))
end
