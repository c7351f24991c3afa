-- Sends the requests of a file one after the other. The file is mapped, not read: hundreds of megabytes
-- are more than this Lua can hold, and the generator shares the cores with the server it measures.
--
-- Arguments: file, bytes of a request, number of requests, index of the first, of how many one is new.
-- The order is that of storm-order.ts.

local ffi = require('ffi')
ffi.cdef [[
  int open(const char *path, int flags);
  void *mmap(void *at, size_t length, int protection, int flags, int file, long offset);
]]

local PROT_READ, MAP_PRIVATE = 1, 2
local SCATTER, SCATTER_MODULUS = 7919, 2 ^ 31
local requests, size, count, index, every

function init(args)
  size, count, index, every = tonumber(args[2]), tonumber(args[3]), tonumber(args[4]), tonumber(args[5])
  local file = ffi.C.open(args[1], 0)
  requests = ffi.cast('const char *', ffi.C.mmap(nil, size * count, PROT_READ, MAP_PRIVATE, file, 0))
end

function request_at(n)
  local newest = math.floor(n / every)
  if n % every == 0 then return newest end
  return (n % SCATTER_MODULUS) * SCATTER % (newest + 1)
end

function request()
  local at = request_at(index) % count
  index = index + 1
  return ffi.string(requests + at * size, size)
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    'RESULT {"requests":%d,"durationUs":%d,"refused":%d,"socketErrors":%d,"p50Us":%d,"p99Us":%d}\n',
    summary.requests, summary.duration, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50), latency:percentile(99)))
end
