-- A queue that somebody stopped is Suspended, and so is one whose ClusterQueue is inactive: why stands there.
local hs = {status = "Progressing", message = "Kueue has not looked at it yet"}
for _, condition in ipairs(obj.status ~= nil and obj.status.conditions or {}) do
  if condition.type == "Active" and condition.observedGeneration == obj.metadata.generation then
    hs.message = condition.message
    if condition.status == "True" then
      hs.status = "Healthy"
    elseif condition.reason == "Stopped" then
      hs.status = "Suspended"
    else
      hs.status = condition.reason == "ClusterQueueIsInactive" and "Suspended" or "Degraded"
      hs.message = condition.message .. " " .. obj.spec.clusterQueue .. ": " .. condition.reason
    end
  end
end
return hs
