-- Over for good, suspended, or in one of its attempts.
local status = obj.status or {}
local is = {}
for _, condition in ipairs(status.conditions or {}) do
  is[condition.type] = condition.status == "True" and condition.message or nil
end
if is.Failed then
  return {status = "Degraded", message = is.Failed}
elseif is.Completed then
  return {status = "Healthy", message = is.Completed}
elseif is.Suspended then
  return {status = "Suspended", message = is.Suspended}
end

local said = {}
if (status.restarts or 0) > 0 then
  local limit = (obj.spec.failurePolicy or {}).maxRestarts or 0
  table.insert(said, "attempt " .. status.restarts + 1 .. ", " .. (status.restartsCountTowardsMax or 0) .. " of " .. limit .. " restarts used")
end
for _, job in ipairs(status.replicatedJobsStatus or {}) do
  for _, specified in ipairs(obj.spec.replicatedJobs) do
    if specified.name == job.name then
      local there = (job.ready or 0) + (job.succeeded or 0)
      table.insert(said, job.name .. ": " .. there .. " of " .. (specified.replicas or 1) .. " Jobs ready or done")
    end
  end
end
return {status = "Progressing", message = #said > 0 and table.concat(said, ", ") or "JobSet has made nothing of it yet"}
