-- A claim may be bound only when its first pod comes: nothing may wait for that.
local hs = {status = "Healthy", message = ""}
local phase = obj.status ~= nil and obj.status.phase or "Pending"
if phase == "Lost" then
  hs.status = "Degraded"
  hs.message = "its volume is lost"
elseif phase == "Pending" then
  hs.message = "waits for its first pod"
end
return hs
