-- Sends the bodies of a file in turn, one a line, and prints what wrk measured as one line of JSON.
local bodies, at = {}, 0
function init(args)
  for line in io.lines(args[1]) do bodies[#bodies + 1] = line end
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
  wrk.headers["Authorization"] = "Bearer " .. (args[2] or "none")
end
function request()
  at = at % #bodies + 1
  return wrk.format(nil, nil, nil, bodies[at])
end
function done(summary, latency)
  local ms = function(p) return string.format("%.2f", latency:percentile(p) / 1000) end
  local e = summary.errors
  io.write(string.format('\n{"answers": %d, "seconds": %.3f, "p50": %s, "p95": %s, "p99": %s, "connect": %d, "read": %d, ' ..
    '"write": %d, "timeout": %d, "status": %d}\n', summary.requests, summary.duration / 1e6, ms(50), ms(95), ms(99),
    e.connect, e.read, e.write, e.timeout, e.status))
end
