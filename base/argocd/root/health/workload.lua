-- Whether Kueue has let it in, and why not.
local status = obj.status or {}
local is, said = {}, {}
for _, condition in ipairs(status.conditions or {}) do
  is[condition.type] = condition.status == "True"
  said[condition.type] = condition.message
  if condition.type == "Finished" and is.Finished then
    return {status = condition.reason == "Failed" and "Degraded" or "Healthy", message = condition.message}
  end
end

local evicted = is.Evicted and "; evicted: " .. said.Evicted or ""
if obj.spec.active == false then
  return {status = "Suspended", message = "deactivated: spec.active is false" .. evicted}
elseif is.QuotaReserved == nil then
  return {status = "Progressing", message = "Kueue has not looked at it yet"}
elseif not is.QuotaReserved then
  return {status = "Suspended", message = said.QuotaReserved .. evicted}
elseif is.Admitted then
  return {status = "Progressing", message = said.Admitted .. evicted}
end
local waits = {said.QuotaReserved .. evicted}
for _, check in ipairs(status.admissionChecks or {}) do
  if check.state ~= "Ready" then
    table.insert(waits, "AdmissionCheck " .. check.name .. " is " .. check.state .. ((check.message or "") ~= "" and ": " .. check.message or ""))
  end
end
return {status = "Suspended", message = table.concat(waits, "; ")}
