import assert from "node:assert/strict";
import { test } from "node:test";
import { type TestAnswer, type TestServer, testServer } from "../testing.ts";

const services = "/api/v1/namespaces/default/services";
const http = [{ port: 80 }];
let count = 0;

const create = (server: TestServer, spec: object, query = "") =>
  server.call("POST", services + query, { metadata: { name: `s${++count}` }, spec: { ports: http, ...spec } });
const update = (server: TestServer, { json }: TestAnswer, spec: object) =>
  server.call("PUT", `${services}/${json.metadata.name}`, {
    metadata: { name: json.metadata.name },
    spec: { ports: http, ...spec },
  });
const remove = (server: TestServer, { json }: TestAnswer) => server.call("DELETE", `${services}/${json.metadata.name}`);

const specOf = (answer: TestAnswer) => {
  assert.ok(answer.code < 300, answer.text);
  return answer.json.spec;
};

test("a service gets an address, its family, and a node port when its type has one", async () => {
  await using server = await testServer();
  const inside = specOf(await create(server, {}));
  assert.match(inside.clusterIP, /^10\.96\.\d+\.\d+$/);
  assert.deepEqual(inside.clusterIPs, [inside.clusterIP]);
  assert.deepEqual([inside.ipFamilies, inside.ipFamilyPolicy], [["IPv4"], "SingleStack"]);
  assert.equal(inside.ports[0].nodePort, undefined);

  const balanced = specOf(await create(server, { type: "LoadBalancer", externalTrafficPolicy: "Local" }));
  const [nodePort, health] = [balanced.ports[0].nodePort, balanced.healthCheckNodePort];
  assert.ok(nodePort >= 30000 && nodePort <= 32767 && health >= 30000 && health !== nodePort);

  const bare = specOf(await create(server, { type: "LoadBalancer", allocateLoadBalancerNodePorts: false }));
  assert.equal(bare.ports[0].nodePort, undefined);

  const name = specOf(await create(server, { type: "ExternalName", externalName: "a.b" }));
  assert.deepEqual([name.clusterIP, name.clusterIPs, name.ipFamilies], [undefined, undefined, undefined]);

  const headless = specOf(await create(server, { clusterIP: "None", selector: { a: "b" } }));
  assert.deepEqual([headless.clusterIPs, headless.ipFamilies], [["None"], ["IPv4"]]);
  const open = specOf(await create(server, { clusterIP: "None" }));
  assert.deepEqual([open.ipFamilies, open.ipFamilyPolicy], [["IPv4", "IPv6"], "RequireDualStack"]);
});

test("a service in a cluster of two families gets as many addresses as it asks for", async () => {
  await using server = await testServer({ addresses: "10.96.0.0/16,fd00:10:96::/112" });
  const single = await create(server, {});
  assert.deepEqual(specOf(single).ipFamilies, ["IPv4"]);
  for (const ipFamilyPolicy of ["PreferDualStack", "RequireDualStack"]) {
    const { clusterIPs, ipFamilies } = specOf(await create(server, { ipFamilyPolicy }));
    assert.deepEqual(ipFamilies, ["IPv4", "IPv6"]);
    assert.match(clusterIPs[1], /^fd00:10:96::[0-9a-f]+$/);
  }
  const six = specOf(await create(server, { ipFamilies: ["IPv6"] }));
  assert.match(six.clusterIP, /^fd00:/);

  const upgraded = await update(server, single, { ipFamilyPolicy: "RequireDualStack" });
  assert.equal(specOf(upgraded).clusterIPs.length, 2);
  assert.equal(specOf(upgraded).clusterIP, specOf(single).clusterIP);
  const [, second] = specOf(upgraded).clusterIPs;
  const kept = await update(server, single, {});
  assert.equal(specOf(kept).clusterIPs[1], second);
  const downgraded = await update(server, single, { ipFamilyPolicy: "SingleStack" });
  assert.deepEqual(specOf(downgraded).clusterIPs, [specOf(single).clusterIP]);
  assert.deepEqual(specOf(downgraded).ipFamilies, ["IPv4"]);
  const again = await create(server, { ipFamilies: ["IPv6"], clusterIP: second, clusterIPs: [second] });
  assert.equal(specOf(again).clusterIP, second);
});

test("addresses, families and ports that cannot be had are refused in upstream's words", async () => {
  await using server = await testServer();
  specOf(await create(server, { clusterIP: "10.96.0.10", type: "NodePort", ports: [{ port: 1, nodePort: 30000 }] }));
  const nodePort = (port: number) => ({ type: "NodePort", ports: [{ port: 80, nodePort: port }] });
  const local = { type: "LoadBalancer", externalTrafficPolicy: "Local" };
  const cases: readonly [object, number, string][] = [
    [
      { clusterIP: "10.96.0.10" },
      422,
      'spec.clusterIPs: Invalid value: ["10.96.0.10"]: failed to allocate IP 10.96.0.10: provided IP is already allocated',
    ],
    ...["10.97.0.1", "10.96.0.0", "10.96.255.255"].map((ip): [object, number, string] => [
      { clusterIP: ip },
      422,
      `spec.clusterIPs: Invalid value: ["${ip}"]: failed to allocate IP ${ip}: the provided network does not match the current range`,
    ]),
    [nodePort(30000), 422, "spec.ports[0].nodePort: Invalid value: 30000: provided port is already allocated"],
    [
      nodePort(80),
      422,
      "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767",
    ],
    [
      { ...local, healthCheckNodePort: 30000 },
      500,
      "Internal error occurred: failed to allocate requested HealthCheck NodePort 30000: provided port is already allocated",
    ],
    [
      { ipFamilyPolicy: "RequireDualStack" },
      422,
      'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
    ],
    [{ ipFamilies: ["IPv6"] }, 422, 'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'],
    [
      { clusterIP: "fd00::1" },
      422,
      'spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster',
    ],
    [
      { ipFamilies: ["IPv4", "IPv6"] },
      422,
      "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified",
    ],
    [
      { clusterIP: "x" },
      422,
      'spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
    [
      { clusterIPs: ["10.96.0.9"] },
      422,
      'spec.clusterIPs: Invalid value: ["10.96.0.9"]: must be empty when `clusterIP` is not specified',
    ],
    [{ ports: [] }, 422, "spec.ports: Required value"],
  ];
  for (const [spec, code, text] of cases) {
    const answer = await create(server, spec);
    assert.equal(answer.code, code, answer.text);
    assert.ok(String(answer.json.message).endsWith(text), `${answer.json.message}\n${text}`);
  }
});

test("what a client leaves out of an update stays, and a change of type gives back what it no longer needs", async () => {
  await using server = await testServer();
  const made = await create(server, { type: "NodePort" });
  const { clusterIP, ports } = specOf(made);
  assert.deepEqual(specOf(await update(server, made, { type: "NodePort" })), specOf(made));

  const inside = specOf(await update(server, made, {}));
  assert.deepEqual([inside.clusterIP, inside.ports[0].nodePort], [clusterIP, undefined]);
  const taken = await create(server, { type: "NodePort", ports: [{ port: 80, nodePort: ports[0].nodePort }] });
  assert.equal(specOf(taken).ports[0].nodePort, ports[0].nodePort);

  const name = specOf(await update(server, made, { type: "ExternalName", externalName: "a.b" }));
  assert.deepEqual([name.clusterIP, name.clusterIPs, name.ipFamilyPolicy], [undefined, undefined, undefined]);
  assert.equal(specOf(await create(server, { clusterIP })).clusterIP, clusterIP);
  assert.notEqual(specOf(await update(server, made, {})).clusterIP, clusterIP);

  const balanced = await create(server, { type: "LoadBalancer", externalTrafficPolicy: "Local" });
  const { healthCheckNodePort } = specOf(balanced);
  const plain = specOf(await update(server, balanced, { ports: [{ port: 80 }] }));
  assert.deepEqual([plain.healthCheckNodePort, plain.externalTrafficPolicy], [undefined, undefined]);
  specOf(await create(server, { type: "NodePort", ports: [{ port: 1, nodePort: healthCheckNodePort }] }));
});

test("ports of one number share a node port over two protocols", async () => {
  await using server = await testServer();
  const dns = (nodePort?: number) => [
    { name: "t", port: 53, protocol: "TCP" },
    { name: "u", port: 53, protocol: "UDP", ...(nodePort && { nodePort }) },
  ];
  for (const wanted of [undefined, 30053]) {
    const { ports } = specOf(await create(server, { type: "NodePort", ports: dns(wanted) }));
    assert.equal(ports[0].nodePort, ports[1].nodePort);
    if (wanted) assert.equal(ports[0].nodePort, wanted);
  }
});

test("fifty services created at once have fifty addresses and node ports, and a full range says so", async () => {
  await using server = await testServer({ addresses: "10.0.0.0/26", nodePorts: "30000-30061" });
  const made = await Promise.all(Array.from({ length: 50 }, () => create(server, { type: "NodePort" })));
  assert.equal(new Set(made.map((one) => specOf(one).clusterIP)).size, 50);
  assert.equal(new Set(made.map((one) => specOf(one).ports[0].nodePort)).size, 50);
  // The lower part, kept for those who ask by name, is used when the rest is full.
  const rest = await Promise.all(Array.from({ length: 13 }, () => create(server, { type: "NodePort" })));
  assert.deepEqual(rest.map(({ code }) => code).toSorted(), [...Array(12).fill(201), 500]);
  const full = await create(server, {});
  assert.equal(
    full.json.message,
    `Internal error occurred: failed to allocate a serviceIP for Service "s${count}": range is full`,
  );
  await remove(server, made[0] as TestAnswer);
  assert.equal(specOf(await create(server, {})).clusterIP, specOf(made[0] as TestAnswer).clusterIP);
});

test("node ports that run out are told, and the address taken before is given back", async () => {
  await using server = await testServer({ addresses: "10.0.0.0/30", nodePorts: "30000-30000" });
  specOf(await create(server, { type: "NodePort" }));
  const full = await create(server, { type: "NodePort" });
  assert.equal(full.json.message, "Internal error occurred: failed to allocate a nodePort: range is full");
  specOf(await create(server, {}));
});

test("a write that fails, is refused or is only tried gives back what it took", async () => {
  await using server = await testServer({ addresses: "10.0.0.0/30", nodePorts: "30000-30001" });
  const first = await create(server, {});
  for (let i = 0; i < 3; i++) {
    const again = await server.call("POST", services, {
      metadata: { name: first.json.metadata.name },
      spec: { ports: http },
    });
    assert.equal(again.json.reason, "AlreadyExists");
    assert.equal((await create(server, { sessionAffinity: "Never" })).code, 422);
    assert.equal((await create(server, {}, "?dryRun=All")).code, 201);
    const conflict = await server.call("PUT", `${services}/${first.json.metadata.name}`, {
      metadata: { name: first.json.metadata.name, resourceVersion: "1" },
      spec: { type: "NodePort", ports: http },
    });
    assert.equal(conflict.code, 409);
  }
  specOf(await create(server, {}));
  assert.equal((await create(server, {})).code, 500);
});

test("a dry run shows node ports without looking for free ones, and takes any that is asked for", async () => {
  await using server = await testServer({ nodePorts: "30000-30001" });
  const tried = async (nodePort?: number) => {
    const ports = [
      { name: "a", port: 80, nodePort },
      { name: "b", port: 81 },
    ];
    const { code, json } = await create(server, { type: "NodePort", ports }, "?dryRun=All");
    return [code, ...(json.spec.ports ?? []).map((port: { nodePort: number }) => port.nodePort)];
  };
  assert.deepEqual(await tried(), [201, 32769, 32770]);
  assert.deepEqual(await tried(-1), [201, -1, 1]);
  assert.equal((await create(server, { type: "NodePort", ports: [{ port: 80, nodePort: -1 }] })).code, 422);
});

test("a server that starts over a store knows what its services hold", async () => {
  const before = await testServer();
  const { clusterIP } = specOf(await create(before, { type: "NodePort", ports: [{ port: 80, nodePort: 30001 }] }));
  await using after = await testServer({ store: before.store });
  assert.match(String((await create(after, { clusterIP })).json.message), /provided IP is already allocated$/);
  const port = await create(after, { type: "NodePort", ports: [{ port: 80, nodePort: 30001 }] });
  assert.match(String(port.json.message), /provided port is already allocated$/);
});

test("a client is told what is ignored or outdated in its service", async () => {
  await using server = await testServer({ addresses: "10.96.0.0/16,fd00:10:96::/112" });
  const cases: readonly [object, readonly string[]][] = [
    [{}, []],
    [
      { clusterIP: "None", externalIPs: ["1.2.3.4"], sessionAffinity: "ClientIP", loadBalancerIP: "1.2.3.4" },
      [
        "spec.loadBalancerIP is ignored for headless services",
        "spec.externalIPs is ignored for headless services",
        "spec.SessionAffinity is ignored for headless services",
      ],
    ],
    [
      { externalIPs: ["2001:DB8::1"], externalName: "x" },
      [
        'spec.externalIPs[0]: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")',
        "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
        'spec.externalName is ignored when spec.type is not "ExternalName"',
      ],
    ],
    [
      { type: "LoadBalancer", loadBalancerIP: "010.0.0.1", loadBalancerSourceRanges: ["FD00::/64"] },
      [
        'spec.loadBalancerIP: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"',
        'spec.loadBalancerSourceRanges[0]: IPv6 CIDR value "FD00::/64" should be in RFC 5952 canonical format ("fd00::/64")',
      ],
    ],
    [
      { trafficDistribution: "PreferClose" },
      ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'],
    ],
  ];
  for (const [spec, warnings] of cases) {
    const answer = await create(server, spec);
    specOf(answer);
    assert.deepEqual(
      answer.headers?.warning ?? [],
      warnings.map((text) => `299 - ${JSON.stringify(text)}`),
    );
  }
});
