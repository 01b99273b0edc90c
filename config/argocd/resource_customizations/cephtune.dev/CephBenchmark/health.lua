-- The health of a CephBenchmark or a CephTuningSweep, from the conditions that kstatus
-- knows: Flux and kubectl wait come to the same. Both kinds have the same script.
--
-- A verdict is Healthy whatever it says, because the run has done what it was asked to do.
-- What a verdict should fail on, spec.failOn says, and then the operator marks it Stalled.
local hs = { status = "Progressing", message = "The operator has not seen it yet." }

if obj.status == nil or obj.status.conditions == nil then
  return hs
end
-- What status says is about an earlier spec.
local generation = obj.metadata.generation
if generation ~= nil and (obj.status.observedGeneration == nil or obj.status.observedGeneration < generation) then
  return hs
end

local conditions = {}
for _, condition in ipairs(obj.status.conditions) do
  conditions[condition.type] = condition
end
local function isTrue(kind)
  return conditions[kind] ~= nil and conditions[kind].status == "True"
end

local ready = conditions["Ready"]
if ready == nil then
  return hs
end
hs.message = ready.message
if isTrue("Reconciling") then
  return hs
end
if not isTrue("Stalled") and not isTrue("Ready") then
  if ready.reason == "Suspended" then
    hs.status = "Suspended"
  end
  return hs
end
if isTrue("Ready") and obj.spec.runID ~= obj.status.observedRunID then
  hs.message = "The operator has not begun the run yet that spec.runID asks for."
  return hs
end

hs.status = "Healthy"
if isTrue("Stalled") then
  hs.status = "Degraded"
end
-- An end that has left something in Ceph says so.
local restored = conditions["Restored"]
if restored ~= nil and (restored.status == "False" or restored.reason == "LeftAlone") then
  hs.message = hs.message .. " " .. restored.message
end
return hs
