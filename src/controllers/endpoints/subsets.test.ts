import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { EndpointSubset } from "#api/core/v1/endpoints.ts";
import { repackSubsets } from "./subsets.ts";

/** `1 2!:80,81`: addresses 1 and 2, the latter not ready, with two ports. */
function subset(text: string): EndpointSubset {
  const [left = "", right = ""] = text.split(":");
  const addresses = left.split(" ").filter(Boolean);
  const list = (some: readonly string[]) => some.map((one) => ({ ip: `10.0.0.${one.replace("!", "")}` }));
  const ready = list(addresses.filter((one) => !one.endsWith("!")));
  const notReady = list(addresses.filter((one) => one.endsWith("!")));
  const ports = right.split(",").filter(Boolean);
  return {
    ...(ready.length > 0 && { addresses: ready }),
    ...(notReady.length > 0 && { notReadyAddresses: notReady }),
    ...(ports.length > 0 && { ports: ports.map((port) => ({ port: Number(port), protocol: "TCP" as const })) }),
  };
}
function text({ addresses = [], notReadyAddresses = [], ports = [] }: EndpointSubset): string {
  const last = ({ ip }: { ip: string }) => ip.slice("10.0.0.".length);
  const all = [...addresses.map(last), ...notReadyAddresses.map((one) => `${last(one)}!`)];
  return `${all.join(" ")}:${ports.map(({ port }) => port).join()}`;
}

const cases: Record<string, [from: string[], to: string[]]> = {
  nothing: [[], []],
  "no ports": [["1:"], ["1:"]],
  "no addresses": [[":80"], []],
  "in order": [["2 1:81,80"], ["1 2:80,81"]],
  "same ports, other addresses": [["1:80", "2:80"], ["1 2:80"]],
  "same address, other ports": [["1:80", "1:81"], ["1:80,81"]],
  "an address twice": [["1 1:80", "1:80"], ["1:80"]],
  "not ready wins": [["1:80", "1!:80"], ["1!:80"]],
  "ready for one port, not for the other": [
    ["1:80", "1!:81"],
    ["1:80", "1!:81"],
  ],
  "ports of which each has its own addresses": [
    ["1 2:80", "1:81"],
    ["1 2:80", "1:81"],
  ],
  "with and without ports": [
    ["1:80", "2:"],
    ["2:", "1:80"],
  ],
};
for (const [name, [from, to]] of Object.entries(cases))
  test(`subsets are repacked: ${name}`, () => {
    assert.deepEqual(repackSubsets(from.map(subset)).map(text), to);
  });

test("addresses that are equal but of different pods stay two", () => {
  const targetRef = (uid: string) => ({ kind: "Pod", uid });
  const two = ["b", "a"].map((uid) => ({ addresses: [{ ip: "10.0.0.1", targetRef: targetRef(uid) }] }));
  assert.deepEqual(
    repackSubsets(two)[0]?.addresses?.map((one) => one.targetRef?.uid),
    ["a", "b"],
  );
});

test("repacking changes nothing of what is said, however it is said, and nothing is left to repack", () => {
  const address = fc.integer({ min: 1, max: 6 });
  const one = fc
    .tuple(fc.array(address), fc.array(address), fc.array(fc.integer({ min: 80, max: 83 }), { minLength: 1 }))
    .map(([ready, not, ports]) => subset(`${ready.join(" ")} ${not.map((n) => `${n}!`).join(" ")}:${ports.join()}`));
  const said = (subsets: readonly EndpointSubset[]) => {
    const all = new Map<string, boolean>();
    for (const { addresses = [], notReadyAddresses = [], ports = [] } of subsets)
      for (const [list, isReady] of [[addresses, true], [notReadyAddresses, false]] as const) // biome-ignore format: one line
        for (const { ip } of list)
          for (const port of ports.length > 0 ? ports.map((p) => p.port) : [0])
            all.set(`${ip} ${port}`, isReady && all.get(`${ip} ${port}`) !== false);
    return [...all].toSorted(([a], [b]) => (a < b ? -1 : 1));
  };
  fc.assert(
    fc.property(fc.array(one, { maxLength: 5 }), (subsets) => {
      const packed = repackSubsets(subsets);
      assert.deepEqual(said(packed), said(subsets));
      assert.deepEqual(repackSubsets(packed), packed);
    }),
    { numRuns: 300, seed: 1 },
  );
});
