-- What Trainer says of a run, and what its training reports. Why a held one waits stands on its Workload.
local status = obj.status or {}
local is = {}
for _, condition in ipairs(status.conditions or {}) do
  is[condition.type] = condition.status == "True" and condition.message or nil
end
local over = is.Failed or is.Complete
if is.Suspended and not over then
  local queue = (obj.metadata.labels or {})["kueue.x-k8s.io/queue-name"]
  return {status = "Suspended", message = is.Suspended .. (queue and "; its Workload in LocalQueue " .. queue .. " says why" or "")}
end

local said = {over}
if not over then
  for _, job in ipairs(status.jobsStatus or {}) do
    local does = "has no pods yet"
    for _, count in ipairs({
      {"suspended", "is suspended"},
      {"active", "waits for its pods to be ready"},
      {"ready", "runs"},
      {"succeeded", "is done"},
      {"failed", "has failed"},
    }) do
      if (job[count[1]] or 0) > 0 then
        does = count[2]
      end
    end
    table.insert(said, job.name .. " " .. does)
  end
end
if #said == 0 then
  said = {"Trainer has made nothing of it yet"}
end
local training = status.trainerStatus or {}
if training.progressPercentage ~= nil then
  table.insert(said, training.progressPercentage .. " %")
end
if training.estimatedRemainingSeconds ~= nil and not over then
  table.insert(said, training.estimatedRemainingSeconds .. " s left")
end
for _, metric in ipairs(training.metrics or {}) do
  table.insert(said, metric.name .. " " .. metric.value)
end
return {status = is.Failed and "Degraded" or is.Complete and "Healthy" or "Progressing", message = table.concat(said, ", ")}
