import assert from "node:assert/strict";
import { test } from "node:test";
import { turn } from "#base/breathe.ts";
import type { ApiObject } from "#schema/object.ts";
import { type TestServer, testServer } from "../testing.ts";

const services = "/api/v1/namespaces/default/services";
const addresses = "/apis/networking.k8s.io/v1/ipaddresses";
const ranges = "/apis/networking.k8s.io/v1/servicecidrs";
const advertised = { address: "192.0.2.1", port: 6443 };

interface World extends AsyncDisposable {
  readonly server: TestServer;
  /** `10.96.0.1 default/kubernetes`, of each address in the API, once it is as expected. */
  until(expected: readonly string[]): Promise<void>;
}

async function world(options: { readonly addresses?: string } = {}): Promise<World> {
  const server = await testServer(options);
  const system = server.server.system(advertised);
  const stop = new AbortController();
  await system.reconcile(stop.signal);
  const running = system.run(stop.signal);
  const present = async (): Promise<readonly string[]> => {
    const { items } = (await server.call("GET", addresses)).json;
    return items.map(({ metadata, spec }: ApiObject) =>
      `${metadata.name} ${spec.parentRef.namespace}/${spec.parentRef.name}`.trim(),
    );
  };
  return {
    server,
    async until(expected) {
      for (let i = 0; i < 50; i++) {
        if (JSON.stringify(await present()) === JSON.stringify(expected)) return;
        await turn();
      }
      assert.deepEqual(await present(), expected);
    },
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("the test is over"));
      await running;
      await server[Symbol.asyncDispose]();
    },
  };
}

const create = (server: TestServer, name: string, clusterIP?: string) =>
  server.call("POST", services, {
    metadata: { name },
    spec: { ports: [{ port: 80 }], ...(clusterIP !== undefined && { clusterIP }) },
  });

test("each address of a service is in the API for as long as the service has it", async () => {
  await using w = await world();
  const { server } = w;
  await w.until(["10.96.0.1 default/kubernetes"]);
  const { metadata } = (await server.call("GET", `${addresses}/10.96.0.1`)).json;
  assert.deepEqual(metadata.labels, {
    "ipaddress.kubernetes.io/ip-family": "IPv4",
    "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
  });
  await create(server, "web", "10.96.0.20");
  await create(server, "headless", "None");
  await w.until(["10.96.0.1 default/kubernetes", "10.96.0.20 default/web"]);
  await server.call("DELETE", `${services}/web`);
  await w.until(["10.96.0.1 default/kubernetes"]);
  assert.equal((await create(server, "next", "10.96.0.20")).code, 201, "the address is free at once");
  await w.until(["10.96.0.1 default/kubernetes", "10.96.0.20 default/next"]);
  const name = { type: "ExternalName", externalName: "example.com", clusterIP: null, clusterIPs: null };
  const { code, text } = await server.call("PATCH", `${services}/next`, { spec: name }, patch);
  assert.equal(code, 200, text);
  await w.until(["10.96.0.1 default/kubernetes"]);
});

const patch = { "content-type": "application/merge-patch+json" };

test("addresses in the API are put right at times", async () => {
  await using w = await world();
  const { server } = w;
  await create(server, "web", "10.96.0.20");
  await w.until(["10.96.0.1 default/kubernetes", "10.96.0.20 default/web"]);
  await server.call("DELETE", `${addresses}/10.96.0.20`);
  const stale = { "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io" };
  const of = (name: string, parent: string, labels: object = {}) =>
    server.call("POST", addresses, {
      metadata: { name, labels },
      spec: { parentRef: { resource: "services", namespace: "default", name: parent } },
    });
  assert.equal((await of("10.96.0.30", "gone", stale)).code, 201);
  assert.equal((await of("10.96.0.40", "mine")).code, 201);
  await server.clock.advance(10_000);
  await w.until(["10.96.0.1 default/kubernetes", "10.96.0.20 default/web", "10.96.0.40 default/mine"]);
  const taken = await create(server, "late", "10.96.0.40");
  assert.equal(taken.code, 422);
  assert.match(taken.json.message as string, /provided IP is already allocated/);
});

test("services get addresses of further ranges once those are ready", async () => {
  await using w = await world({ addresses: "10.96.0.0/29" });
  const { server } = w;
  const more = { metadata: { name: "more" }, spec: { cidrs: ["10.7.0.0/24"] } };
  assert.equal((await server.call("POST", ranges, more)).code, 201);
  const early = await create(server, "early", "10.7.0.9");
  assert.equal(early.code, 422);
  assert.match(early.json.message as string, /the provided network does not match the current range/);
  const condition = { type: "Ready", status: "True", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" };
  const ready = await server.call("PATCH", `${ranges}/more/status`, { status: { conditions: [condition] } }, patch);
  assert.equal(ready.code, 200, ready.text);
  assert.equal((await create(server, "web", "10.7.0.9")).code, 201);
  // The first range has six addresses, one of them for the API server.
  for (let i = 0; i < 5; i++) assert.match((await create(server, `s${i}`)).json.spec.clusterIP, /^10\.96\.0\./);
  assert.match((await create(server, "full")).json.spec.clusterIP, /^10\.7\.0\./);
});

test("the ranges of the server itself are ready", async () => {
  await using w = await world();
  const { status } = (await w.server.call("GET", `${ranges}/kubernetes`)).json;
  assert.deepEqual(
    status.conditions.map(({ type, status: state, message }: Record<string, string>) => [type, state, message]),
    [["Ready", "True", "Kubernetes default Service CIDR is ready"]],
  );
});
