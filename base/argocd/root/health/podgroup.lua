-- Unknown is a gang that is split: the pods that run wait for those that have no node.
local status = obj.status or {}
local why = "Volcano has not said why"
for _, condition in ipairs(status.conditions or {}) do
  if condition.type == "Unschedulable" and condition.status == "True" and (condition.message or "") ~= "" then
    why = condition.message  -- true also when it runs at last
  end
end
if status.phase == "Completed" and (status.failed or 0) > 0 then
  return {status = "Degraded", message = "all its pods are over, " .. status.failed .. " of them failed"}
elseif status.phase == "Completed" then
  return {status = "Healthy", message = "all its pods are done"}
elseif status.phase == "Running" then
  return {status = "Progressing", message = (status.running or 0) .. " pods run, the gang needs " .. obj.spec.minMember}
elseif status.phase == "Unknown" then
  return {status = "Degraded", message = why}
elseif status.phase == "Inqueue" then
  return {status = "Progressing", message = "waits for nodes: " .. why}
end
return {status = "Suspended", message = "waits in Queue " .. (obj.spec.queue or "default") .. ": " .. why}
