-- A queue that somebody stopped is Suspended; one that lacks something lets nobody in until a person acts.
local hs = {status = "Progressing", message = "Kueue has not looked at it yet"}
for _, condition in ipairs(obj.status ~= nil and obj.status.conditions or {}) do
  if condition.type == "Active" and condition.observedGeneration == obj.metadata.generation then
    hs.message = condition.message
    if condition.status == "True" then
      hs.status = "Healthy"
    elseif condition.reason == "Stopped" or condition.reason == "Terminating" then
      hs.status = "Suspended"
    else
      hs.status = "Degraded"
    end
  end
end
return hs
