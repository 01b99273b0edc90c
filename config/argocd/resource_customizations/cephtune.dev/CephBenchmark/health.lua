-- The health of a CephBenchmark or a CephTuningSweep. Both kinds have the same script. It
-- reads the conditions of kstatus, the library with which Flux computes the state of an
-- object. So Argo CD and Flux agree.
--
-- By default, an object with a verdict is Healthy, whichever verdict it is, because the run
-- has done its job. If spec.failOn lists the verdict, the operator sets the condition
-- Stalled, and the object is Degraded.
local hs = { status = "Progressing", message = "The operator has not seen it yet." }

if obj.status == nil or obj.status.conditions == nil then
  return hs
end
-- The status is about an earlier spec.
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
if isTrue("Ready") and obj.status.schedule == nil and obj.spec.runID ~= obj.status.observedRunID then
  hs.message = "The operator has not begun the run yet that spec.runID asks for."
  return hs
end

hs.status = "Healthy"
if isTrue("Stalled") then
  hs.status = "Degraded"
end
-- If settings in Ceph are not restored, the message says so.
local restored = conditions["Restored"]
if restored ~= nil and (restored.status == "False" or restored.reason == "LeftAlone") then
  hs.message = hs.message .. " " .. restored.message
end
return hs
