-- An application of applications goes on to its next wave when all of this one is deployed and healthy. One that cannot be
-- deployed fails it, so that it tries again with the newest commit and does not wait for ever.
local hs = {status = "Progressing", message = "not compared yet"}
local status = obj.status
if status == nil or status.sync == nil then
  return hs
end
if status.sync.status == "Unknown" then
  hs.status = "Degraded"
  hs.message = "cannot be compared"
  for _, condition in ipairs(status.conditions or {}) do
    hs.message = condition.message
  end
elseif status.operationState ~= nil and (status.operationState.phase == "Failed" or status.operationState.phase == "Error") then
  hs.status = "Degraded"
  hs.message = status.operationState.message or "the last sync failed"
elseif status.sync.status ~= "Synced" then
  hs.message = "not synced yet"
elseif status.health ~= nil then
  hs.status = status.health.status or "Progressing"
  hs.message = status.health.message or ""
  if hs.status == "Suspended" then
    hs.status = "Healthy"
    hs.message = "something in it is suspended, a queue perhaps: runs come and wait there"
  end
end
return hs
