import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Service } from "#api/core/v1/service.ts";
import { ApiError } from "#base/errors.ts";
import { type ClientWorld, world } from "#client/testing.ts";
import { LoadBalancerPool } from "./pool.ts";
import { serviceLbController } from "./service-lb.ts";

const finalizer = "service.kubernetes.io/load-balancer-cleanup";
const have = (w: ClientWorld, name: string, spec: object = {}, metadata: object = {}, status: object = {}) =>
  w.have(Service, {
    metadata: { name, ...metadata },
    spec: { type: "LoadBalancer", ipFamilies: ["IPv4"], ports: [{ port: 80 }], ...spec },
    status,
  });
const at = (...ips: string[]) => ({ loadBalancer: { ingress: ips.map((ip) => ({ ip, ipMode: "VIP" })) } });
const addresses = (w: ClientWorld, name: string) =>
  w.get(Service, { name })?.status.loadBalancer.ingress?.map(({ ip }) => ip) ?? [];
const four = ["172.31.255.1-172.31.255.4"];

const pools: Record<string, [text: string, first: string | undefined, holds: string[], not: string[]]> = {
  "a network": ["10.1.2.0/24", "10.1.2.1", ["10.1.2.254"], ["10.1.2.0", "10.1.2.255", "10.1.3.1"]],
  "a range": ["10.1.2.9-10.1.2.11", "10.1.2.9", ["10.1.2.11"], ["10.1.2.8", "10.1.2.12"]],
  "one address": ["10.1.2.9/32", "10.1.2.9", ["10.1.2.9"], ["10.1.2.10"]],
  IPv6: ["fd00::/120", undefined, ["fd00::ff"], ["fd00::", "10.1.2.3"]],
};
for (const [name, [text, first, holds, not]] of Object.entries(pools))
  test(`a pool of ${name}`, () => {
    const pool = new LoadBalancerPool([text]);
    assert.equal(pool.find(4, () => true), first); // biome-ignore format: one line
    for (const one of holds) assert.ok(pool.has(one), one);
    for (const one of not) assert.ok(!pool.has(one), one);
  });
for (const text of ["", "10.1.2.3", "10.1.2.9-10.1.2.3", "10.1.2.9-fd00::1", "a/b"])
  test(`${JSON.stringify(text)} is no pool`, () => {
    assert.throws(() => new LoadBalancerPool([text]), /is neither a network nor a range/);
  });

test("a service gets the first free address, a finalizer, and no more writes", async () => {
  const w = world();
  const one = serviceLbController(four);
  have(w, "other", {}, {}, at("172.31.255.1"));
  const service = have(w, "web", {}, { finalizers: ["x/y"] });
  await w.reconcile(one, service);
  const after = w.get(Service, { name: "web" });
  assert.deepEqual(after?.status.loadBalancer.ingress, [{ ip: "172.31.255.2", ipMode: "VIP" }]);
  assert.deepEqual(after?.metadata.finalizers, ["x/y", finalizer]);
  assert.deepEqual(w.writes(), ["update Service web/status"]);
  assert.deepEqual(w.events(), [
    "Normal EnsuringLoadBalancer Ensuring load balancer",
    "Normal EnsuredLoadBalancer Ensured load balancer",
  ]);
  await w.reconcile(one, service);
  assert.deepEqual([w.writes(), w.events()], [[], []]);
});

interface Case {
  readonly pool?: readonly string[];
  readonly spec?: object;
  readonly status?: object;
  readonly others?: Record<string, object>;
  readonly expect: readonly string[] | RegExp;
}
const cases: Record<string, Case> = {
  "the address it asks for": { spec: { loadBalancerIP: "172.31.255.3" }, expect: ["172.31.255.3"] },
  "another one than it has": {
    spec: { loadBalancerIP: "172.31.255.3" },
    status: at("172.31.255.1"),
    expect: ["172.31.255.3"],
  },
  "an address that is not to be given": {
    spec: { loadBalancerIP: "8.8.8.8" },
    expect: /address 8\.8\.8\.8 is not in the pool 172\.31\.255\.1-172\.31\.255\.4/,
  },
  "an address of someone else": {
    spec: { loadBalancerIP: "172.31.255.1" },
    others: { a: at("172.31.255.1") },
    expect: /address 172\.31\.255\.1 is in use/,
  },
  "no address where there is none left": {
    pool: ["172.31.255.1/32"],
    others: { a: at("172.31.255.1") },
    expect: /no IPv4 address left in the pool 172\.31\.255\.1\/32/,
  },
  "the address it has": { status: at("172.31.255.4"), expect: ["172.31.255.4"] },
  "a new one for one outside of the pool": { status: at("192.168.0.1"), expect: ["172.31.255.1"] },
  "one of each family": {
    pool: [...four, "fd00::/120"],
    spec: { ipFamilies: ["IPv4", "IPv6"] },
    expect: ["172.31.255.1", "fd00::1"],
  },
  "one of the family that there is": { spec: { ipFamilies: ["IPv6", "IPv4"] }, expect: ["172.31.255.1"] },
  "none of a family that there is not": {
    spec: { ipFamilies: ["IPv6"] },
    expect: /no addresses of the service's families/,
  },
};
for (const [name, { pool = four, spec, status, others = {}, expect }] of Object.entries(cases))
  test(`a service is given ${name}`, async () => {
    const w = world();
    for (const [other, has] of Object.entries(others)) have(w, other, {}, {}, has);
    const service = have(w, "web", spec, {}, status);
    const done = w.reconcile(serviceLbController(pool), service);
    if (expect instanceof RegExp) {
      await assert.rejects(done, expect);
      assert.match(
        w.events()[0] ?? "",
        /^Warning SyncLoadBalancerFailed Error syncing load balancer: failed to ensure load balancer: /,
      );
    } else {
      await done;
      assert.deepEqual(addresses(w, "web"), expect);
    }
  });

const ignored: Record<string, { spec?: object; metadata?: object; pool?: readonly string[] }> = {
  "of another type": { spec: { type: "ClusterIP" } },
  "of another's class": { spec: { loadBalancerClass: "example.com/lb" } },
  "of another's class, being deleted": {
    spec: { loadBalancerClass: "example.com/lb" },
    metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [finalizer] },
  },
  "where there is no pool": { pool: [] },
};
for (const [name, { spec, metadata, pool = four }] of Object.entries(ignored))
  test(`a service ${name} is left alone`, async () => {
    const w = world();
    await w.reconcile(serviceLbController(pool), have(w, "web", spec, metadata));
    assert.deepEqual(w.writes(), []);
  });

const released: Record<string, [spec: object, metadata: object]> = {
  "is deleted": [{}, { deletionTimestamp: "2026-01-01T00:00:00Z" }],
  "changes its type": [{ type: "ClusterIP" }, {}],
};
for (const [name, [spec, metadata]] of Object.entries(released))
  test(`a service that ${name} gives its address back`, async () => {
    const w = world();
    const finalizers = [finalizer, "x/y"];
    await w.reconcile(serviceLbController(four), have(w, "web", spec, { ...metadata, finalizers }, at("172.31.255.1")));
    assert.deepEqual(addresses(w, "web"), []);
    assert.deepEqual(w.get(Service, { name: "web" })?.metadata.finalizers, ["x/y"]);
    assert.deepEqual(w.events(), [
      "Normal DeletingLoadBalancer Deleting load balancer",
      "Normal DeletedLoadBalancer Deleted load balancer",
    ]);
  });

test("of two services with one address the older keeps it", async () => {
  const w = world();
  const one = serviceLbController(four);
  const old = have(w, "z", {}, { finalizers: [finalizer] }, at("172.31.255.1"));
  await w.clock.advance(5000);
  const young = have(w, "a", {}, { finalizers: [finalizer] }, at("172.31.255.1"));
  await w.reconcile(one, old);
  await w.reconcile(one, young);
  assert.deepEqual([addresses(w, "z"), addresses(w, "a")], [["172.31.255.1"], ["172.31.255.2"]]);
});

test("an address whose writing failed is given to the same service, and to no other meanwhile", async () => {
  const w = world();
  const one = serviceLbController(four);
  const [a, b] = [have(w, "a"), have(w, "b")];
  w.fail(({ name }) =>
    name === "a" ? new ApiError({ code: 500, reason: "InternalError", message: "later" }) : undefined,
  );
  await assert.rejects(w.reconcile(one, a), /later/);
  w.fail(() => undefined);
  await w.reconcile(one, b);
  await w.reconcile(one, a);
  assert.deepEqual([addresses(w, "a"), addresses(w, "b")], [["172.31.255.1"], ["172.31.255.2"]]);
});

test("whatever happens to services, no two have one address, and none is lost, across restarts", async () => {
  const step = fc.record({
    what: fc.constantFrom("create", "delete", "retype", "restart", "ask"),
    which: fc.integer({ min: 0, max: 7 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const w = world();
      let one = serviceLbController(four);
      const settle = async () => {
        for (const service of w.list(Service)) await w.reconcile(one, service).catch(() => undefined);
      };
      for (const { what, which } of steps) {
        const name = `s${which}`;
        const service = w.get(Service, { name });
        if (what === "restart") one = serviceLbController(four);
        else if (what === "create" && !service) have(w, name);
        else if (what === "delete" && service) w.lose(Service, service.metadata);
        else if (service) {
          const type = service.spec.type === "LoadBalancer" ? "ClusterIP" : "LoadBalancer";
          const spec = what === "ask" ? { loadBalancerIP: `172.31.255.${(which % 4) + 1}` } : { type };
          have(w, name, { ...service.spec, ...spec }, service.metadata, service.status);
        }
        await settle();
        await settle();
        const wanting = w.list(Service).filter(({ spec }) => spec.type === "LoadBalancer");
        const all = wanting.flatMap(({ metadata }) => addresses(w, metadata.name));
        assert.equal(new Set(all).size, all.length, all.join());
        const unasked = wanting.filter(({ spec }) => !spec.loadBalancerIP);
        const without = unasked.filter(({ metadata }) => addresses(w, metadata.name).length === 0);
        assert.ok(without.length === 0 || all.length === 4, `${all.length} given, ${without.length} without`);
      }
    }),
    { numRuns: 60, seed: 3 },
  );
});
