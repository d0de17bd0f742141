import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { Resolver as Asker } from "node:dns/promises";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { type Answer, decode, encode, type Packet } from "dns-packet";
import fc from "fast-check";
import { Namespace } from "#api/core/v1/namespace.ts";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { ManualClock, systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { Cache } from "#client/cache.ts";
import { world } from "#client/testing.ts";
import type { Draft } from "#schema/infer.ts";
import { type Directory, directoryOf } from "./directory.ts";
import { forwarder } from "./host/forwarder.ts";
import { type DnsServer, serveDns } from "./host/server.ts";
import { Resolver, type ResolverOptions } from "./resolver.ts";
import { DnsZone } from "./zone.ts";

function sampleDirectory(): Directory {
  const w = world();
  const caches = {
    namespaces: new Cache<Namespace>(),
    services: new Cache<Service>(),
    slices: new Cache<EndpointSlice>(),
  };
  for (const name of ["default", "empty"]) caches.namespaces.set(name, w.have(Namespace, { metadata: { name } }));
  const service = (name: string, spec: Draft<Service["spec"]>) =>
    caches.services.set(`default/${name}`, w.have(Service, { metadata: { name, namespace: "default" }, spec }));
  service("web", {
    clusterIP: "10.96.0.7",
    clusterIPs: ["10.96.0.7", "fd00::7"],
    ports: [{ name: "http", port: 80 }],
  });
  service("db", { clusterIP: "None", ports: [{ name: "sql", port: 5432 }] });
  service("quiet", { clusterIP: "None", ports: [{ name: "sql", port: 5432 }] });
  service("out", { type: "ExternalName", externalName: "example.com" });
  service("alias", { type: "ExternalName", externalName: "web.default.svc.cluster.local" });
  service("shared", { clusterIP: "10.96.0.9", clusterIPs: ["10.96.0.9"], ports: [{ name: "sql", port: 5432 }] });
  service("crowd", { clusterIP: "None", ports: [{ name: "x", port: 1 }] });
  const slice = (name: string, endpoints: EndpointSlice["endpoints"], port = 5432, portName = "sql") =>
    caches.slices.set(
      `default/${name}-1`,
      w.have(EndpointSlice, {
        metadata: { name: `${name}-1`, namespace: "default", labels: { "kubernetes.io/service-name": name } },
        addressType: "IPv4",
        endpoints,
        ports: [{ name: portName, port }],
      }),
    );
  const at = (address: string, rest = {}) => ({ addresses: [address], conditions: {}, ...rest });
  slice("db", [
    at("10.244.1.2", { hostname: "db-0" }),
    at("10.244.1.3"),
    at("10.244.1.4", { conditions: { ready: false } }),
  ]);
  for (const part of ["shared", "shared-2"])
    caches.slices.set(
      `default/${part}`,
      w.have(EndpointSlice, {
        metadata: { name: part, namespace: "default", labels: { "kubernetes.io/service-name": "shared" } },
        addressType: "IPv4",
        endpoints: [at("10.244.1.9")],
        ports: [{ name: part, port: 1 }],
      }),
    );
  slice(
    "crowd",
    Array.from({ length: 90 }, (_, i) => at(`10.244.2.${i}`)),
  );
  return directoryOf(caches);
}

const sampleZone = () => new DnsZone("cluster.local", sampleDirectory(), ["10.96.0.10"]);

const known: readonly (readonly [string, string, readonly string[] | "no such name" | "elsewhere"])[] = [
  ["web.default.svc.cluster.local", "A", ["10.96.0.7"]],
  ["web.default.svc.cluster.local", "AAAA", ["fd00::7"]],
  ["web.default.svc.cluster.local", "MX", []],
  ["web.empty.svc.cluster.local", "A", "no such name"],
  ["web.nowhere.svc.cluster.local", "A", "no such name"],
  ["default.svc.cluster.local", "A", []],
  ["nowhere.svc.cluster.local", "A", "no such name"],
  ["svc.cluster.local", "A", []],
  ["cluster.local", "NS", ["ns.dns.cluster.local"]],
  ["cluster.local", "SOA", ["ns.dns.cluster.local hostmaster.cluster.local 1 7200 1800 86400 5"]],
  ["cluster.local", "A", []],
  ["ns.dns.cluster.local", "A", ["10.96.0.10"]],
  ["dns-version.cluster.local", "TXT", ["1.1.0"]],
  ["db.default.svc.cluster.local", "A", ["10.244.1.2", "10.244.1.3"]],
  ["db-0.db.default.svc.cluster.local", "A", ["10.244.1.2"]],
  ["10-244-1-3.db.default.svc.cluster.local", "A", ["10.244.1.3"]],
  ["10-244-1-4.db.default.svc.cluster.local", "A", "no such name"],
  ["db.default.svc.cluster.local", "AAAA", []],
  ["10-244-1-3.web.default.svc.cluster.local", "A", "no such name"],
  ["10-244-1-9.shared.default.svc.cluster.local", "A", ["10.244.1.9"]],
  ["quiet.default.svc.cluster.local", "A", "no such name"],
  ["quiet.default.svc.cluster.local", "SRV", "no such name"],
  ["_sql._tcp.quiet.default.svc.cluster.local", "SRV", "no such name"],
  ["_http._tcp.web.default.svc.cluster.local", "SRV", ["0 100 80 web.default.svc.cluster.local"]],
  [
    "_sql._tcp.db.default.svc.cluster.local",
    "SRV",
    ["0 50 5432 db-0.db.default.svc.cluster.local", "0 50 5432 10-244-1-3.db.default.svc.cluster.local"],
  ],
  ["web.default.svc.cluster.local", "SRV", ["0 100 80 web.default.svc.cluster.local"]],
  ["_http._udp.web.default.svc.cluster.local", "SRV", "no such name"],
  ["_http._tcp.web.default.svc.cluster.local", "A", []],
  ["10-244-9-9.default.pod.cluster.local", "A", ["10.244.9.9"]],
  ["10-244-9-9.nowhere.pod.cluster.local", "A", "no such name"],
  ["10-244-9-999.default.pod.cluster.local", "A", "no such name"],
  ["out.default.svc.cluster.local", "A", ["example.com"]],
  ["7.0.96.10.in-addr.arpa", "PTR", ["web.default.svc.cluster.local"]],
  ["2.1.244.10.in-addr.arpa", "PTR", ["db-0.db.default.svc.cluster.local"]],
  ["9.1.244.10.in-addr.arpa", "PTR", ["10-244-1-9.shared.default.svc.cluster.local"]],
  ["1.1.1.10.in-addr.arpa", "PTR", "elsewhere"],
  ["example.com", "A", "elsewhere"],
  ["local", "A", "elsewhere"],
];

for (const [name, type, expected] of known)
  test(`dns knows ${type} of ${name}`, () => {
    const found = sampleZone().find(name, type);
    if (expected === "elsewhere") return assert.equal(found, undefined);
    assert.equal(found?.exists, expected !== "no such name");
    const told = found?.answers.map(({ data }) =>
      typeof data === "object" ? Object.values(data).join(" ") : String(data),
    );
    assert.deepEqual(told, expected === "no such name" ? [] : expected);
  });

const resolverOf = (forward?: ResolverOptions["forward"]) =>
  new Resolver({
    zone: sampleZone(),
    clock: new ManualClock(0),
    random: seededRandom(1),
    log: silentLog,
    ...(forward && { forward }),
  });

async function withServer(
  resolver: Pick<Resolver, "answer">,
  work: (asker: Asker, server: DnsServer) => Promise<void>,
): Promise<void> {
  const server = await serveDns({ resolver, address: "127.0.0.1", port: 0, log: silentLog });
  const asker = new Asker({ timeout: 2_000, tries: 2 });
  asker.setServers([`127.0.0.1:${server.port}`]);
  try {
    await work(asker, server);
  } finally {
    await server.close();
  }
}

test("dns answers a resolver that is not ours", () =>
  withServer(resolverOf(), async (asker) => {
    assert.deepEqual(await asker.resolve4("WEB.default.svc.Cluster.Local"), ["10.96.0.7"]);
    assert.deepEqual(await asker.resolve6("web.default.svc.cluster.local"), ["fd00::7"]);
    assert.deepEqual((await asker.resolve4("db.default.svc.cluster.local")).toSorted(), ["10.244.1.2", "10.244.1.3"]);
    assert.deepEqual(await asker.reverse("10.96.0.7"), ["web.default.svc.cluster.local"]);
    const [srv] = await asker.resolveSrv("_http._tcp.web.default.svc.cluster.local");
    assert.deepEqual([srv?.name, srv?.port, srv?.weight], ["web.default.svc.cluster.local", 80, 100]);
    assert.deepEqual(await asker.resolve4("alias.default.svc.cluster.local"), ["10.96.0.7"], "a name for another");
    await assert.rejects(asker.resolve4("none.default.svc.cluster.local"), { code: "ENOTFOUND" });
    await assert.rejects(asker.resolve4("quiet.default.svc.cluster.local"), { code: "ENOTFOUND" });
    await assert.rejects(asker.resolve6("db.default.svc.cluster.local"), { code: "ENODATA" });
    assert.equal((await asker.resolveSoa("cluster.local")).hostmaster, "hostmaster.cluster.local");
    await assert.rejects(asker.resolve4("example.com"), { code: "EREFUSED" });
  }));

test("dns tells what does not fit into a datagram over TCP", () =>
  withServer(resolverOf(), async (asker) => {
    assert.equal((await asker.resolve4("crowd.default.svc.cluster.local")).length, 90);
  }));

test("dns asks others about other names, once while the answer is good", async () => {
  let asked = 0;
  const resolver = resolverOf(async (query) => {
    asked++;
    const { id, questions = [] } = decode(Buffer.from(query));
    const name = questions[0]?.name ?? "";
    return encode({
      type: "response",
      id: id ?? 0,
      questions,
      answers: [{ type: "A", name, ttl: 60, data: "192.0.2.1" }],
    });
  });
  await withServer(resolver, async (asker) => {
    assert.deepEqual(await asker.resolve4("example.com"), ["192.0.2.1"]);
    assert.deepEqual(await asker.resolve4("out.default.svc.cluster.local"), ["192.0.2.1"], "behind a name of ours");
  });
  const query = encode({ type: "query", id: 7, questions: [{ type: "A", name: "example.org", class: "IN" }] });
  const before = asked;
  for (let i = 0; i < 3; i++) assert.equal((await resolver.answer(query, "udp"))?.readUInt16BE(0), 7);
  assert.equal(asked - before, 1);
});

test("dns asks servers by address, with or without a port", () => {
  const ask = (server: string) => forwarder({ servers: [server], clock: systemClock, random: seededRandom(1) });
  for (const server of ["192.0.2.1", "192.0.2.1:5353", "fd00::1", "[fd00::1]:5353"]) ask(server);
  for (const server of ["example.com", "example.com:53", "[192.0.2.1", ""])
    assert.throws(() => ask(server), { message: `resolver ${JSON.stringify(server)} is no address` });
});

test("dns says so when nobody can be asked", async () => {
  const silent = createSocket("udp4");
  silent.bind(0, "127.0.0.1");
  await once(silent, "listening");
  const forward = forwarder({
    servers: [`127.0.0.1:${silent.address().port}`],
    clock: systemClock,
    random: seededRandom(1),
    waitMs: 20,
  });
  const query = encode({ type: "query", id: 7, questions: [{ type: "A", name: "example.org", class: "IN" }] });
  await assert.rejects(forward(query, "udp"), /no resolver answers: 127\.0\.0\.1: no answer within 20 ms/);
  const reply = await resolverOf(forward).answer(query, "udp");
  assert.equal((reply?.[3] ?? 0) & 0xf, 2, "SERVFAIL");
  silent.close();
});

test("dns forgets its answers when the zone changes", () => {
  const services = new Cache<Service>();
  const namespaces = new Cache<Namespace>();
  const w = world();
  namespaces.set("default", w.have(Namespace, { metadata: { name: "default" } }));
  const zone = new DnsZone("cluster.local", directoryOf({ namespaces, services, slices: new Cache() }), []);
  const resolver = new Resolver({ zone, clock: new ManualClock(0), random: seededRandom(1), log: silentLog });
  const query = encode({ type: "query", id: 1, questions: [{ type: "A", name: "new.default.svc.cluster.local" }] });
  const code = () => ((resolver.answer(query, "udp") as Buffer)[3] ?? 0) & 0xf;
  assert.equal(code(), 3);
  services.set(
    "default/new",
    w.have(Service, {
      metadata: { name: "new", namespace: "default" },
      spec: { clusterIP: "10.96.0.8", ports: [{ port: 80 }] },
    }),
  );
  assert.equal(code(), 3, "the answer is kept");
  resolver.forget();
  assert.equal(code(), 0);
});

test("dns answers as it was asked: with the question, its kind and its extensions, whatever the answer", () => {
  const resolver = resolverOf();
  const opt = { type: "OPT", name: ".", udpPayloadSize: 4096 } as Answer;
  const ask = (name: string, extra: Packet = {}) => {
    const questions = [{ type: "NS", name, class: "IN" } as const];
    return decode(
      resolver.answer(encode({ type: "query", id: 7, flags: 0x100, questions, ...extra }), "udp") as Buffer,
    );
  };
  const own = ask("cluster.local", { additionals: [opt] });
  assert.deepEqual(
    own.additionals?.map((one) => `${one.type} ${one.name}`),
    ["A ns.dns.cluster.local", "OPT ."],
  );
  assert.deepEqual(ask("nowhere.cluster.local").additionals, []);
  const update = 0x2800;
  const refused = ask("cluster.local", { additionals: [opt], flags: update });
  assert.equal((refused.flags ?? 0) & 0x7800, update);
  assert.equal((refused.flags ?? 0) & 0xf, 4, "NOTIMP");
  assert.deepEqual(
    refused.additionals?.map(({ type }) => type),
    ["OPT"],
  );
});

test("dns survives whatever is sent to it", () => {
  const resolver = resolverOf();
  const question = encode({ type: "query", id: 9, questions: [{ type: "A", name: "web.default.svc.cluster.local" }] });
  const damaged = fc
    .tuple(fc.array(fc.tuple(fc.nat(question.length - 1), fc.nat(255)), { maxLength: 6 }), fc.nat(question.length))
    .map(([changes, length]) => {
      const bytes = Buffer.from(question);
      for (const [at, value] of changes) bytes[at] = value;
      return bytes.subarray(0, length);
    });
  const random = fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes));
  fc.assert(
    fc.property(fc.oneof(damaged, random), fc.constantFrom("udp" as const, "tcp" as const), (query, way) => {
      const reply = resolver.answer(query, way);
      if (Buffer.isBuffer(reply)) {
        assert.equal(reply.readUInt16BE(0), query.readUInt16BE(0));
        assert.ok(((reply[2] ?? 0) & 0x80) !== 0, "it is an answer");
        assert.ok(way === "tcp" || reply.length <= 1232);
      }
    }),
    { numRuns: 3_000 },
  );
});

test("dns ends, whoever still keeps a connection to it", async () => {
  const { promise: closed, resolve } = Promise.withResolvers<unknown>();
  await withServer(resolverOf(), async (_, { port }) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("close", resolve);
    await once(socket, "connect");
  });
  await closed;
});

test("dns ends a connection that sends no questions", () =>
  withServer(resolverOf(), async (_, { port }) => {
    const socket = connect(port, "127.0.0.1");
    socket.write(Buffer.from([0, 3, 1, 2, 3]));
    await once(socket, "close");
  }));
