-- One that somebody closed is Suspended.
local state = obj.status ~= nil and obj.status.state or ""
if state == "Open" then
  return {status = "Healthy", message = ""}
elseif state == "Closed" or state == "Closing" then
  return {status = "Suspended", message = state .. ": it lets no new pod group in"}
elseif state == "Unknown" then
  return {status = "Degraded", message = "Volcano does not know its state"}
end
return {status = "Progressing", message = "Volcano has not looked at it yet"}
