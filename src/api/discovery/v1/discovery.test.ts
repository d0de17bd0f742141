import assert from "node:assert/strict";
import { test } from "node:test";
import { cellsOf, defaulted, ruleTests, updateTests } from "../../testing/rules.ts";
import { EndpointSlice } from "./endpoint-slice.ts";

const slice = { addressType: "IPv4", endpoints: [{ addresses: ["10.0.0.1"] }], ports: [{ name: "http", port: 80 }] };

test("ports have a name, if an empty one, and a protocol", () => {
  const { ports, endpoints } = defaulted(EndpointSlice, { addressType: "IPv4", ports: [{ port: 80 }] });
  assert.deepEqual(ports, [{ port: 80, name: "", protocol: "TCP" }]);
  assert.deepEqual(endpoints, []);
});

ruleTests(EndpointSlice, slice, {
  "no type": [{ addressType: "" }, "addressType: Required value"],
  "an unknown type": [
    { addressType: "MAC" },
    'addressType: Unsupported value: "MAC": supported values: "FQDN", "IPv4", "IPv6"',
  ],
  "no address": [
    { "endpoints.0.addresses": [] },
    "endpoints[0].addresses: Required value: must contain at least 1 address",
  ],
  "an address of the other family": [
    { "endpoints.0.addresses": ["fd00::1"] },
    'endpoints[0].addresses: Invalid value: "fd00::1": must be an IPv4 address',
  ],
  "an address of the machine itself": [
    { "endpoints.0.addresses": ["127.0.0.1"] },
    'endpoints[0].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
  ],
  "a name of one part": [
    { addressType: "FQDN", "endpoints.0.addresses": ["web"] },
    'endpoints[0].addresses[0]: Invalid value: "web": should be a domain with at least two segments separated by dots',
  ],
  "a port twice": [{ ports: [{ name: "a" }, { name: "a" }] }, 'ports[1].name: Duplicate value: "a"'],
  "a hint twice": [
    { "endpoints.0.hints": { forZones: [{ name: "a" }, { name: "a" }] } },
    'endpoints[0].hints.forZones[1].name: Duplicate value: "a"',
  ],
  "too many hints": [
    { "endpoints.0.hints": { forNodes: Array.from({ length: 9 }, (_, i) => ({ name: `n${i}` })) } },
    "endpoints[0].hints.forNodes: Too many: 9: must have at most 8 items",
  ],
});
updateTests(EndpointSlice, slice, {
  "another type": [
    { addressType: "FQDN", "endpoints.0.addresses": ["a.b"] },
    'addressType: Invalid value: "FQDN": field is immutable',
  ],
});

test("a row of a slice shows the first three", () => {
  const endpoints = ["1", "2", "3", "4"].map((n) => ({ addresses: [`10.0.0.${n}`] }));
  assert.deepEqual(cellsOf(EndpointSlice, { ...slice, endpoints }), [
    "example",
    "IPv4",
    "80",
    "10.0.0.1,10.0.0.2,10.0.0.3 + 1 more...",
    "60s",
  ]);
  assert.deepEqual(cellsOf(EndpointSlice, { addressType: "IPv6" }).slice(2, 4), ["<unset>", "<unset>"]);
});
