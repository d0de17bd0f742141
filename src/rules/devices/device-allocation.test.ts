import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { DeviceClass } from "#api/resource/v1/device-class.ts";
import type { DeviceClaim, ExactDeviceRequest } from "#api/resource/v1/device-request.ts";
import { ResourceClaim } from "#api/resource/v1/resource-claim.ts";
import { type Device, ResourceSlice, type ResourceSliceSpec } from "#api/resource/v1/resource-slice.ts";
import { applyDefaults } from "#schema/defaults.ts";
import type { Draft } from "#schema/infer.ts";
import { parseQuantity } from "#schema/quantity.ts";
import { allocationResult } from "./allocation-result.ts";
import { AllocationError, type DeviceUse, searchDevices } from "./device-allocation.ts";
import { gatherPools, poolKey } from "./device-pools.ts";
import { SelectionError } from "./device-selection.ts";

const driver = "gpu.example.com";
const node = { name: "n", labels: { zone: "z" } };

const made = <O>(kind: Parameters<typeof applyDefaults>[0], object: object): O =>
  applyDefaults(kind, object as never) as O;
const sliceOf = (devices: readonly Draft<Device>[], more: Draft<ResourceSliceSpec> = {}) =>
  made<ResourceSlice>(ResourceSlice, {
    metadata: { name: "s" },
    spec: { driver, nodeName: "n", pool: { name: "n", generation: 1, resourceSliceCount: 1 }, devices, ...more },
  });
const classes: Readonly<Record<string, DeviceClass>> = {
  any: made(DeviceClass, { metadata: { name: "any" }, spec: {} }),
  large: made(DeviceClass, {
    metadata: { name: "large" },
    spec: {
      selectors: [{ cel: { expression: `device.capacity["${driver}"].memory.compareTo(quantity("40Gi")) >= 0` } }],
      config: [{ opaque: { driver, parameters: { mode: "fast" } } }],
    },
  }),
};
const claimOf = (devices: Draft<DeviceClaim>) =>
  made<ResourceClaim>(ResourceClaim, {
    metadata: { name: "c", namespace: "default", uid: "u" },
    spec: { devices },
    status: {},
  });
const asking = (exactly: Draft<ExactDeviceRequest>) =>
  claimOf({ requests: [{ name: "r", exactly: { deviceClassName: "any", ...exactly } }] });

interface World {
  readonly slices: readonly ResourceSlice[];
  readonly taken?: readonly string[];
  readonly amounts?: Readonly<Record<string, string>>;
}

function given({ slices, taken = [], amounts = {} }: World, ...claims: readonly ResourceClaim[]) {
  const pools = gatherPools(node, {
    near: () => slices,
    ofPool: (key) => slices.filter((one) => poolKey(one) === key),
  });
  const use: DeviceUse = {
    isTaken: (id) => taken.includes(id.split("/").at(-1) ?? ""),
    taken: () => new Map(Object.entries(amounts).map(([name, amount]) => [name, parseQuantity(amount)])),
  };
  const found = searchDevices({ claims, pools, classOf: (name) => classes[name], use });
  return found?.map((devices, i) => allocationResult(claims[i] as ResourceClaim, devices, "n", () => "share"));
}
const names = (world: World, ...claims: readonly ResourceClaim[]) =>
  given(world, ...claims)?.map(({ devices }) =>
    (devices.results ?? []).map(({ request, device }) => `${request}=${device}`),
  );

const memory = (value: string) => ({ memory: { value } });
const mixed = sliceOf([
  { name: "small-0", capacity: memory("16Gi"), attributes: { model: { string: "s" }, rack: { int: 1 } } },
  {
    name: "large-0",
    capacity: memory("80Gi"),
    attributes: { model: { string: "l" }, rack: { int: 1 }, release: { version: "2.1.0" } },
  },
  {
    name: "large-1",
    capacity: memory("80Gi"),
    attributes: { model: { string: "l" }, rack: { int: 2 }, release: { version: "1.9.0" } },
  },
]);
const tainted = sliceOf([
  { name: "hot", taints: [{ key: "hot", value: "very", effect: "NoSchedule" }] },
  { name: "odd", taints: [{ key: "odd", effect: "None" }] },
]);
const parts = sliceOf(
  [
    { name: "whole", consumesCounters: [{ counterSet: "gpu", counters: { memory: { value: "80Gi" } } }] },
    { name: "half-0", consumesCounters: [{ counterSet: "gpu", counters: { memory: { value: "40Gi" } } }] },
    { name: "half-1", consumesCounters: [{ counterSet: "gpu", counters: { memory: { value: "40Gi" } } }] },
  ],
  { sharedCounters: [{ name: "gpu", counters: { memory: { value: "80Gi" } } }] },
);
const shared = sliceOf([
  {
    name: "nic",
    allowMultipleAllocations: true,
    capacity: { bandwidth: { value: "10G", requestPolicy: { default: "1G", validRange: { min: "1G", step: "1G" } } } },
  },
]);

const cases: readonly [string, World, readonly ResourceClaim[], unknown][] = [
  ["the first that is free", { slices: [mixed], taken: ["small-0"] }, [asking({})], [["r=large-0"]]],
  ["as many as are asked for", { slices: [mixed] }, [asking({ count: 3 })], [["r=small-0", "r=large-0", "r=large-1"]]],
  ["none if there are too few", { slices: [mixed], taken: ["large-1"] }, [asking({ count: 3 })], undefined],
  [
    "those of the class",
    { slices: [mixed] },
    [asking({ deviceClassName: "large", count: 2 })],
    [["r=large-0", "r=large-1"]],
  ],
  [
    "those that a version selects",
    { slices: [mixed] },
    [
      asking({
        selectors: [
          {
            cel: {
              expression: `has(device.attributes["${driver}"].release) && device.attributes["${driver}"].release.isGreaterThan(semver("2.0.0"))`,
            },
          },
        ],
      }),
    ],
    [["r=large-0"]],
  ],
  [
    "none of a domain that devices know nothing of",
    { slices: [mixed] },
    [asking({ selectors: [{ cel: { expression: `"x" in device.attributes["other.example.com"]` } }] })],
    undefined,
  ],
  [
    "all",
    { slices: [mixed] },
    [asking({ allocationMode: "All", deviceClassName: "large" })],
    [["r=large-0", "r=large-1"]],
  ],
  [
    "not all if one is taken",
    { slices: [mixed], taken: ["large-1"] },
    [asking({ allocationMode: "All", deviceClassName: "large" })],
    undefined,
  ],
  [
    "taken ones for those who look after them",
    { slices: [mixed], taken: ["small-0", "large-0", "large-1"] },
    [asking({ allocationMode: "All", adminAccess: true })],
    [["r=small-0", "r=large-0", "r=large-1"]],
  ],
  ["different ones for each claim", { slices: [mixed] }, [asking({}), asking({})], [["r=small-0"], ["r=large-0"]]],
  [
    "by going back where the first choice leads nowhere",
    { slices: [mixed] },
    [
      asking({ selectors: [{ cel: { expression: `device.attributes["${driver}"].rack == 1` } }] }),
      asking({ selectors: [{ cel: { expression: `device.attributes["${driver}"].model == "s"` } }] }),
    ],
    [["r=large-0"], ["r=small-0"]],
  ],
  ["no tainted one", { slices: [tainted] }, [asking({})], [["r=odd"]]],
  [
    "a tainted one that is tolerated",
    { slices: [tainted] },
    [asking({ tolerations: [{ key: "hot", operator: "Equal", value: "very" }] })],
    [["r=hot"]],
  ],
  ["halves, but not both and the whole", { slices: [parts] }, [asking({ count: 2 })], [["r=half-0", "r=half-1"]]],
  ["nothing of what is drawn by others", { slices: [parts], taken: ["whole"] }, [asking({})], undefined],
  ["the other half", { slices: [parts], taken: ["half-0"] }, [asking({})], [["r=half-1"]]],
  [
    "nothing of a pool whose slices are not all there",
    { slices: [sliceOf([{ name: "a" }], { pool: { name: "n", generation: 1, resourceSliceCount: 2 } })] },
    [asking({})],
    undefined,
  ],
  [
    "only the newest generation",
    {
      slices: [
        sliceOf([{ name: "old" }]),
        sliceOf([{ name: "new" }], { pool: { name: "n", generation: 2, resourceSliceCount: 1 } }),
      ],
    },
    [asking({})],
    [["r=new"]],
  ],
  ["nothing of another node", { slices: [sliceOf([{ name: "a" }], { nodeName: "m" })] }, [asking({})], undefined],
  [
    "a share of a device with room",
    { slices: [shared], taken: ["nic"], amounts: { bandwidth: "5G" } },
    [asking({ capacity: { requests: { bandwidth: "5G" } } })],
    [["r=nic"]],
  ],
  [
    "no share of one that is full",
    { slices: [shared], taken: ["nic"], amounts: { bandwidth: "6G" } },
    [asking({ capacity: { requests: { bandwidth: "5G" } } })],
    undefined,
  ],
  ["several shares within one claim", { slices: [shared] }, [asking({ count: 2 })], [["r=nic", "r=nic"]]],
];
for (const [what, world, claims, expected] of cases)
  test(`claims get ${what}`, () => assert.deepEqual(names(world, ...claims), expected));

test("the first alternative that can be had is taken", () => {
  const claim = claimOf({
    requests: [
      {
        name: "gpu",
        firstAvailable: [
          { name: "big", deviceClassName: "large", count: 2 },
          { name: "any", deviceClassName: "any", count: 1 },
        ],
      },
    ],
    config: [{ requests: ["gpu/any"], opaque: { driver, parameters: { mode: "slow" } } }],
  });
  assert.deepEqual(names({ slices: [mixed] }, claim), [["gpu/big=large-0", "gpu/big=large-1"]]);
  assert.deepEqual(names({ slices: [mixed], taken: ["large-1"] }, claim), [["gpu/any=small-0"]]);
  const sources = (world: World) =>
    given(world, claim)?.[0]?.devices.config?.map((one) => `${one.source} ${one.requests}`);
  assert.deepEqual(sources({ slices: [mixed] }), ["FromClass gpu/big"]);
  assert.deepEqual(sources({ slices: [mixed], taken: ["large-1"] }), ["FromClaim gpu/any"]);
});

test("devices of a claim match in an attribute, or differ", () => {
  const with2 = (constraint: object) =>
    claimOf({ requests: [{ name: "r", exactly: { deviceClassName: "any", count: 2 } }], constraints: [constraint] });
  assert.deepEqual(names({ slices: [mixed] }, with2({ matchAttribute: `${driver}/model` })), [
    ["r=large-0", "r=large-1"],
  ]);
  assert.deepEqual(names({ slices: [mixed] }, with2({ distinctAttribute: `${driver}/rack` })), [
    ["r=small-0", "r=large-1"],
  ]);
  assert.equal(names({ slices: [mixed] }, with2({ matchAttribute: `${driver}/unknown` })), undefined);
});

test("a claim says which nodes reach its devices, and what it takes of shared ones", () => {
  assert.deepEqual(given({ slices: [mixed] }, asking({}))?.[0]?.nodeSelector, {
    nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["n"] }] }],
  });
  const everywhere = made<ResourceSlice>(ResourceSlice, {
    metadata: { name: "s" },
    spec: {
      driver,
      allNodes: true,
      pool: { name: "net", generation: 1, resourceSliceCount: 1 },
      devices: shared.spec.devices,
    },
  });
  const [result] = given({ slices: [everywhere] }, asking({ capacity: { requests: { bandwidth: "1500M" } } })) ?? [];
  assert.equal(result?.nodeSelector, undefined);
  const { consumedCapacity, shareID } = result?.devices.results?.[0] ?? {};
  assert.deepEqual(
    [consumedCapacity?.bandwidth && parseQuantity(consumedCapacity.bandwidth).unscaled !== 0n, shareID],
    [true, "share"],
  );
});

test("what can never be satisfied is said", () => {
  assert.throws(() => given({ slices: [mixed] }, asking({ deviceClassName: "none" })), AllocationError);
  assert.throws(() => given({ slices: [mixed] }, asking({ count: 33 })), /exceeds the claim limit of 32/);
  const wrong = asking({ selectors: [{ cel: { expression: `device.attributes["${driver}"].absent == 1` } }] });
  assert.throws(() => given({ slices: [mixed] }, wrong), SelectionError);
});

test("a search finds devices exactly if a plain try of all ways does", () => {
  const device = fc.record({ color: fc.integer({ min: 0, max: 2 }), isTaken: fc.boolean() });
  const request = fc.record({
    color: fc.option(fc.integer({ min: 0, max: 2 })),
    count: fc.integer({ min: 1, max: 2 }),
  });
  fc.assert(
    fc.property(
      fc.array(device, { maxLength: 5 }),
      fc.array(request, { minLength: 1, maxLength: 3 }),
      (devices, requests) => {
        const slice = sliceOf(
          devices.map(({ color }, i) => ({ name: `d${i}`, attributes: { color: { int: color } } })),
        );
        const taken = devices.flatMap(({ isTaken }, i) => (isTaken ? [`d${i}`] : []));
        const claim = claimOf({
          requests: requests.map(({ color, count }, i) => ({
            name: `r${i}`,
            exactly: {
              deviceClassName: "any",
              count,
              ...(color !== null && {
                selectors: [{ cel: { expression: `device.attributes["${driver}"].color == ${color}` } }],
              }),
            },
          })),
        });
        const slots = requests.flatMap(({ color, count }) => Array.from({ length: count }, () => color));
        const canFill = (at: number, used: ReadonlySet<number>): boolean =>
          at === slots.length ||
          devices.some(
            (one, i) =>
              !used.has(i) &&
              !one.isTaken &&
              (slots[at] === null || slots[at] === one.color) &&
              canFill(at + 1, new Set([...used, i])),
          );
        const found = names({ slices: [slice], taken }, claim)?.[0];
        assert.equal(found !== undefined, canFill(0, new Set()));
        const used = found?.map((one) => one.split("=")[1] ?? "") ?? [];
        assert.equal(new Set(used).size, used.length);
        assert.ok(used.every((name) => !taken.includes(name)));
      },
    ),
    { numRuns: 200, seed: 5 },
  );
});
