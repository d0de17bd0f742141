import assert from "node:assert/strict";
import { test } from "node:test";
import { cellsOf, changed, defaulted, ruleTests, statusProblemsOf, updateTests } from "../../testing/rules.ts";
import { DeviceClass } from "./device-class.ts";
import { ResourceClaim } from "./resource-claim.ts";
import { ResourceSlice } from "./resource-slice.ts";

const exactly = { deviceClassName: "gpu.example.com" };
const claim = { spec: { devices: { requests: [{ name: "gpu", exactly }] } } };
const at = "spec.devices.requests.0";
const path = "spec.devices.requests[0]";

test("who asks for devices gets one, unless all are asked for", () => {
  const [request] = (defaulted(ResourceClaim, claim) as unknown as ResourceClaim).spec.devices.requests;
  assert.deepEqual(request?.exactly, { ...exactly, allocationMode: "ExactCount", count: 1 });
  const [all] = (
    defaulted(ResourceClaim, changed(claim, { [`${at}.exactly.allocationMode`]: "All" })) as unknown as ResourceClaim
  ).spec.devices.requests;
  assert.equal(all?.exactly?.count, undefined);
});

ruleTests(ResourceClaim, claim, {
  "parameters that are a text": [
    { "spec.devices.config": [{ opaque: { driver: "x.io", parameters: "s" } }] },
    'spec.devices.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object',
  ],
  "nothing asked for": [
    { [at]: { name: "gpu" } },
    `${path}: Required value: exactly one of \`exactly\` or \`firstAvailable\` is required`,
  ],
  "a class without a name": [
    { [`${at}.exactly.deviceClassName`]: "" },
    `${path}.exactly.deviceClassName: Required value`,
  ],
  "a number of all": [
    { [`${at}.exactly`]: { ...exactly, allocationMode: "All", count: 2 } },
    `${path}.exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'`,
  ],
  "a name twice": [
    { "spec.devices.requests": [1, 2].map(() => ({ name: "a", exactly })) },
    'spec.devices.requests[1]: Duplicate value: "a"',
  ],
  "a selector that selects nothing": [
    { [`${at}.exactly.selectors`]: [{}] },
    `${path}.exactly.selectors[0].cel: Required value`,
  ],
  "a constraint on an unknown request": [
    { "spec.devices.constraints": [{ requests: ["tpu"], matchAttribute: "example.com/model" }] },
    "spec.devices.constraints[0].requests[0]: Invalid value: \"tpu\": must be the name of a request in the claim or the name of a request and a subrequest separated by '/'",
  ],
  "an attribute without a domain": [
    { "spec.devices.constraints": [{ matchAttribute: "model" }] },
    'spec.devices.constraints[0].matchAttribute: Invalid value: "model": a fully qualified name must be a domain and a name separated by a slash',
  ],
  "settings of nobody": [{ "spec.devices.config": [{}] }, "spec.devices.config[0].opaque: Required value"],
  "a toleration of a value that need not be": [
    { [`${at}.exactly.tolerations`]: [{ key: "a", operator: "Exists", value: "b" }] },
    `${path}.exactly.tolerations[0].value: Invalid value: "b": must be empty for operator \`Exists\``,
  ],
});
updateTests(ResourceClaim, claim, {
  "what is wrong besides, of which nothing is said": [
    { "spec.devices.requests": [] },
    'spec: Invalid value: {"Devices":{"Requests":[],"Constraints":null,"Config":null}}: field is immutable',
  ],
  "another request": [
    { [`${at}.name`]: "tpu" },
    'spec: Invalid value: {"Devices":{"Requests":[{"Name":"tpu","Exactly":{"DeviceClassName":"gpu.example.com","Selectors":null,"AllocationMode":"ExactCount","Count":1,"AdminAccess":null,"Tolerations":null,"Capacity":null},"FirstAvailable":null}],"Constraints":null,"Config":null}}: field is immutable',
  ],
});

const result = { request: "gpu", driver: "gpu.example.com", pool: "node-1", device: "gpu-0" };
const consumer = { resource: "pods", name: "web", uid: "u1" };

test("a claim is reserved once it is allocated, and what it got stays", () => {
  const problems = (now: Record<string, unknown>, old: Record<string, unknown> = {}) =>
    statusProblemsOf(ResourceClaim, { ...claim, status: now }, { ...claim, status: old });
  const allocation = { devices: { results: [result] } };
  assert.deepEqual(problems({ allocation, reservedFor: [consumer] }), []);
  assert.deepEqual(problems({ reservedFor: [consumer] }), [
    "status.reservedFor: Forbidden: may not be specified when `allocated` is not set",
  ]);
  assert.deepEqual(problems({ allocation: { devices: { results: [{ ...result, request: "tpu" }] } } }), [
    "status.allocation.devices.results[0].request: Invalid value: \"tpu\": must be the name of a request in the claim or the name of a request and a subrequest separated by '/'",
  ]);
  assert.deepEqual(problems({ devices: [{ driver: "gpu.example.com", pool: "p", device: "d" }] }), [
    'status.devices[0]: Invalid value: "gpu.example.com/p/d": must be an allocated device in the claim',
  ]);
  assert.match(
    problems({ allocation: { devices: {} } }, { allocation })[0] ?? "",
    /^status\.allocation: Invalid value: .*: field is immutable$/,
  );
});

ruleTests(
  DeviceClass,
  { spec: { selectors: [{ cel: { expression: "true" } }], extendedResourceName: "example.com/gpu" } },
  {
    "a resource of the node itself": [
      { "spec.extendedResourceName": "cpu" },
      'spec.extendedResourceName: Invalid value: "cpu": must be a valid extended resource name',
    ],
  },
);

const slice = {
  spec: {
    driver: "gpu.example.com",
    pool: { name: "node-1", generation: 1, resourceSliceCount: 1 },
    nodeName: "node-1",
    devices: [{ name: "gpu-0", attributes: { model: { string: "x" } }, capacity: { memory: { value: "16Gi" } } }],
  },
};
const device = "spec.devices[0]";
ruleTests(ResourceSlice, slice, {
  "devices of nowhere": [
    { "spec.nodeName": undefined },
    "spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required",
  ],
  "devices here and everywhere": [
    { "spec.allNodes": true },
    'spec: Invalid value: "{`nodeName`, `allNodes`}": exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required, but multiple fields are set',
  ],
  "a pool of no slices": [
    { "spec.pool.resourceSliceCount": 0 },
    "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
  ],
  "a device twice": [{ "spec.devices": [{ name: "a" }, { name: "a" }] }, 'spec.devices[1]: Duplicate value: "a"'],
  "an attribute of two values": [
    { "spec.devices.0.attributes.model": { string: "x", int: 1 } },
    `${device}.attributes[model]: Invalid value: {"string":"x","int":1}: exactly one value must be specified`,
  ],
  "a version that is none": [
    { "spec.devices.0.attributes.model": { version: "1.0" } },
    `${device}.attributes[model].version: Invalid value: "1.0": must be a string compatible with semver.org spec 2.0.0`,
  ],
  "shares of what is not shared": [
    { "spec.devices.0.capacity.memory.requestPolicy": { default: "1Gi" } },
    `${device}.capacity[memory].requestPolicy: Forbidden: allowMultipleAllocations must be true`,
  ],
  "steps that miss the default": [
    {
      "spec.devices.0.allowMultipleAllocations": true,
      "spec.devices.0.capacity.memory.requestPolicy": { default: "3Gi", validRange: { min: "1Gi", step: "4Gi" } },
    },
    `${device}.capacity[memory].requestPolicy.validRange.step: Invalid value: "3Gi": value is not a multiple of a given step (4Gi) from (1Gi)`,
  ],
  "a taint without an effect": [
    { "spec.devices.0.taints": [{ key: "a" }] },
    `${device}.taints[0].effect: Required value`,
  ],
  "a node of its own": [
    { "spec.devices.0.nodeName": "node-2" },
    `${device}: Invalid value: null: \`nodeName\`, \`nodeSelector\` and \`allNodes\` can only be set if \`perDeviceNodeSelection\` is set to true in the ResourceSlice spec`,
  ],
  "a wait without an end": [
    { "spec.devices.0.bindingConditions": ["ready"] },
    `${device}.bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use bindingConditions`,
  ],
});
updateTests(ResourceSlice, slice, {
  "another driver": [
    { "spec.driver": "tpu.example.com" },
    'spec.driver: Invalid value: "tpu.example.com": field is immutable',
  ],
  "another pool": [{ "spec.pool.name": "node-2" }, 'spec.pool.name: Invalid value: "node-2": field is immutable'],
});

test("rows of devices", () => {
  assert.deepEqual(cellsOf(ResourceClaim, claim), ["example", "pending", "60s"]);
  assert.deepEqual(cellsOf(ResourceClaim, { ...claim, status: { allocation: {}, reservedFor: [consumer] } }), [
    "example",
    "allocated,reserved",
    "60s",
  ]);
  assert.deepEqual(cellsOf(ResourceSlice, slice), ["example", "node-1", "gpu.example.com", "node-1", "60s"]);
});
