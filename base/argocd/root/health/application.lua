-- An application of applications goes on to its next wave only when this one is both deployed and healthy.
local hs = {status = "Progressing", message = "not compared yet"}
if obj.status == nil or obj.status.health == nil or obj.status.sync == nil then
  return hs
end
hs.status = obj.status.health.status or "Progressing"
hs.message = obj.status.health.message or ""
if obj.status.sync.status ~= "Synced" and hs.status == "Healthy" then
  hs.status = "Progressing"
  hs.message = "not synced yet"
end
return hs
