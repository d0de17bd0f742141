// APIs of another server behind this one: a real one, over TLS, with the certificates and headers that real ones ask for.
import assert from "node:assert/strict";
import { request } from "node:https";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { remoteConnections } from "#apiserver/host/remote-connections.ts";
import { type TestOptions, type TestServer, testServer } from "#apiserver/testing.ts";
import { silentLog } from "#base/log.ts";
import { makeAuthority, makeCertificate } from "#cluster/certificate-maker.ts";
import type { KeyPair } from "#cluster/certificates.ts";
import { httpsFront } from "#serving/host/https/front.ts";
import { type AggregatedServer, aggregatedServer, group, proxyClient, servingAuthority } from "./aggregated-server.ts";

const services = "/apis/apiregistration.k8s.io/v1/apiservices";
const name = `v1.${group}`;
const pem = (text: string) => Buffer.from(text).toString("base64");
const apiService = {
  apiVersion: "apiregistration.k8s.io/v1",
  kind: "APIService",
  metadata: { name },
  spec: {
    group,
    version: "v1",
    service: { namespace: "sea", name: "aqua" },
    caBundle: pem(servingAuthority.cert),
    groupPriorityMinimum: 2000,
    versionPriority: 10,
  },
};
const service = { metadata: { name: "aqua" }, spec: { ports: [{ name: "https", port: 443, targetPort: 8443 }] } };
const slice = {
  metadata: { name: "aqua-1", labels: { "kubernetes.io/service-name": "aqua" } },
  addressType: "IPv4",
  ports: [{ name: "https", port: 8443, protocol: "TCP" }],
  endpoints: [{ addresses: ["10.1.2.3"], conditions: { ready: true } }],
};
const slices = "/apis/discovery.k8s.io/v1/namespaces/sea/endpointslices";

interface World extends TestServer {
  readonly aqua: AggregatedServer;
  /** What the condition says: `False ServiceNotFound message`. */
  condition(): Promise<string>;
  /** Lets everything happen until it is so. */
  until(isSo: () => Promise<boolean> | boolean, what?: string): Promise<void>;
}

/** An API server that reaches every address of a pod on this machine. */
async function world(t: TestContext, options: TestOptions = {}, pair: KeyPair = proxyClient()): Promise<World> {
  const aqua = await aggregatedServer();
  const connections = remoteConnections(() => pair);
  const connection = {
    send: (target: Parameters<typeof connections.send>[0], sent: Parameters<typeof connections.send>[1]) =>
      connections.send({ ...target, dialAddress: "127.0.0.1", port: aqua.port }, sent),
  };
  const server = await testServer({ aggregation: { connection, routesToEndpoints: true }, ...options });
  const stop = new AbortController();
  const running = server.server.aggregator.run(stop.signal);
  t.after(async () => {
    stop.abort(new Error("the test is over"));
    await running;
    connections.close();
    await server[Symbol.asyncDispose]();
    await aqua[Symbol.asyncDispose]();
  });
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "sea" } });
  return {
    ...server,
    aqua,
    async condition() {
      const { json } = await server.call("GET", `${services}/${name}`);
      const [found] = json.status.conditions ?? [{}];
      return `${found.status} ${found.reason} ${found.message}`;
    },
    async until(isSo, what = "it did not come to that") {
      for (let i = 0; i < 2000; i++) {
        if (await isSo()) return;
        await pause(1);
        await server.clock.advance(10);
      }
      assert.fail(what);
    },
  };
}

async function serveFish({ call, until, condition }: World): Promise<void> {
  await call("POST", "/api/v1/namespaces/sea/services", service);
  await call("POST", slices, slice);
  await call("POST", services, apiService);
  await until(async () => (await condition()) === "True Passed all checks passed");
}

interface Answer {
  readonly code: number;
  readonly text: string;
  readonly json: ReturnType<typeof JSON.parse>;
}

const dayMs = 24 * 60 * 60 * 1000;
const validity = { notBefore: new Date(Date.now() - dayMs), notAfter: new Date(Date.now() + dayMs) };

/** Asks over real connections: what is passed on is a stream. */
async function front(t: TestContext, { server }: TestServer) {
  const authority = makeAuthority(validity);
  const own = makeCertificate(authority, { commonName: "localhost", hosts: ["127.0.0.1"] }, validity);
  const https = httpsFront({ ...own, clientCa: undefined, log: silentLog, handler: server.handle });
  const port = await https.listen(0, "127.0.0.1");
  t.after(() => https.close(1000));
  const base = { port, host: "127.0.0.1", ca: authority.cert, agent: false };
  return {
    base,
    ask: (
      method: string,
      path: string,
      { body, headers = {} }: { body?: object; headers?: Record<string, string> } = {},
    ) =>
      new Promise<Answer>((resolve, reject) => {
        const sent = request({ ...base, method, path, headers }, (answer) => {
          text(answer).then((all) => {
            const isJson = answer.headers["content-type"]?.startsWith("application/json");
            resolve({ code: answer.statusCode ?? 0, text: all, json: isJson ? JSON.parse(all) : undefined });
          }, reject);
        });
        sent.once("error", reject).end(body && JSON.stringify(body));
      }),
  };
}

const fishes = `/apis/${group}/v1/namespaces/sea/fishes`;

test("requests for an aggregated API are answered by its server, which is told who asks and nothing else", async (t) => {
  const jane = { name: "jane", groups: ["divers", "system:authenticated"], uid: "7", extra: { "a/b": ["c"] } };
  const sea = await world(t, { users: { "jane-token": jane } });
  await serveFish(sea);
  const { ask } = await front(t, sea);
  const headers = {
    authorization: "Bearer jane-token",
    "x-remote-user": "root",
    "x-remote-group": "system:masters",
    "x-remote-extra-x": "y",
  };
  const made = await ask("POST", fishes, { body: { metadata: { name: "nemo" } }, headers });
  assert.deepEqual([made.code, made.json.metadata.name], [201, "nemo"]);
  const post = sea.aqua.requests.find((one) => one.startsWith("POST"));
  assert.equal(post, `POST ${fishes} jane [divers, system:authenticated] a%2fb=c`);
  const list = await ask("GET", `${fishes}?limit=5`, { headers });
  assert.deepEqual([list.code, list.json.kind, list.json.items.length], [200, "FishList", 1]);
  const missing = await ask("GET", `${fishes}/dory`, { headers });
  assert.deepEqual([missing.code, missing.json.message], [404, `fishes.${group} "dory" not found`]);
  const moved = await ask("GET", `/apis/${group}/v1/elsewhere`, { headers });
  assert.deepEqual(
    [moved.code, moved.text],
    [502, "the backend attempted to redirect this request, which is not permitted\n"],
  );
});

test("authorization comes first: who may not ask is not passed on", async (t) => {
  const authorizers: TestOptions["authorizers"] = () => [
    ({ user, ...question }) => ({
      decision:
        user.name === "jane" && question.type === "resource" && question.resource === "fishes" ? "none" : "allow",
    }),
  ];
  const sea = await world(t, { users: { jane: { name: "jane", groups: [] } }, authorizers });
  await serveFish(sea);
  const { ask } = await front(t, sea);
  const before = sea.aqua.requests.length;
  const { code, json } = await ask("GET", fishes, { headers: { authorization: "Bearer jane" } });
  assert.equal(code, 403);
  assert.equal(
    json.message,
    `fishes.${group} is forbidden: User "jane" cannot list resource "fishes" in API group "${group}" in the namespace "sea"`,
  );
  assert.equal(sea.aqua.requests.slice(before).filter((one) => one.includes("fishes")).length, 0);
});

test("a watch goes on through the server, and a connection is switched to another protocol", async (t) => {
  const sea = await world(t);
  await serveFish(sea);
  const { base } = await front(t, sea);
  const lines = await new Promise<AsyncIterator<Buffer>>((resolve, reject) => {
    const sent = request({ ...base, path: `${fishes}?watch=1` }, (answer) => resolve(answer[Symbol.asyncIterator]()));
    sent.once("error", reject).end();
    t.after(() => sent.destroy());
  });
  const nextLine = async () => JSON.parse(String((await lines.next()).value));
  sea.aqua.put("sea", "nemo");
  assert.equal((await nextLine()).object.metadata.name, "nemo");
  sea.aqua.put("sea", "dory");
  assert.equal((await nextLine()).object.metadata.name, "dory");

  const echoed = await new Promise<string>((resolve, reject) => {
    const sent = request({ ...base, path: `${fishes}/nemo/talk`, headers: { connection: "Upgrade", upgrade: "echo" } });
    sent.once("error", reject).end();
    sent.once("upgrade", (_answer, socket) => {
      socket.on("error", reject);
      socket.once("data", (data: Buffer) => {
        resolve(data.toString());
        socket.destroy();
      });
      socket.write("blub");
    });
  });
  assert.equal(echoed, "BLUB");
  const upgrade = sea.aqua.requests.find((one) => one.startsWith("UPGRADE"));
  assert.equal(upgrade, `UPGRADE ${fishes}/nemo/talk tester [system:masters, system:authenticated]`);
});

const aggregated = { accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" };

test("discovery and schemas tell of it in its place among this server's own", async (t) => {
  const sea = await world(t);
  await serveFish(sea);
  const { discovery } = sea.server.aggregator;
  await sea.until(() => discovery.kinds.length > 0);
  const { json } = await sea.call("GET", "/apis", undefined, aggregated);
  const told = json.items.find(({ metadata }: { metadata: { name: string } }) => metadata.name === group);
  assert.equal(told.versions[0].freshness, "Current");
  assert.deepEqual(told.versions[0].resources[0].subresources[0].responseKind.kind, "FishTalk");
  const { json: groups } = await sea.call("GET", "/apis");
  const names: string[] = groups.groups.map((one: { name: string }) => one.name);
  assert.ok(names.indexOf(group) > names.indexOf("apps"));
  const { json: one } = await sea.call("GET", `/apis/${group}`);
  assert.deepEqual(one.preferredVersion, { groupVersion: `${group}/v1`, version: "v1" });
  const { ask } = await front(t, sea);
  assert.equal((await ask("GET", `/apis/${group}/v1`)).json.resources[0].name, "fishes");
  assert.ok((await ask("GET", "/")).json.paths.includes(`/apis/${group}/v1`));

  const index = async () => (await sea.call("GET", "/openapi/v3")).json.paths[`apis/${group}/v1`]?.serverRelativeURL;
  await sea.until(async () => (await index()) !== undefined);
  const document = await ask("GET", await index());
  assert.equal(document.json.info.title, "aqua");
  const { json: whole } = await sea.call("GET", "/openapi/v2");
  const path = whole.paths[`/apis/${group}/v1/fishes`].get.responses["200"].schema.$ref;
  assert.equal(path, "#/definitions/com.example.Fish");
  const [pod, ours] = ["io.k8s.api.core.v1.Pod_v2", "io.k8s.api.core.v1.Pod"].map((key) => whole.definitions[key]);
  assert.equal(
    whole.definitions["com.example.Fish"].properties.metadata.$ref,
    "#/definitions/io.k8s.api.core.v1.Pod_v2",
  );
  assert.equal(pod.description, "not ours");
  assert.ok(ours.properties.spec);
  assert.ok(
    whole.paths["/api/v1/pods"] === undefined || !whole.paths["/api/v1/pods"].get?.description?.includes("not its own"),
  );
  assert.equal(whole.definitions.unused, undefined);
});

test("a server that does not tell everything at once is asked version by version", async (t) => {
  const sea = await world(t);
  sea.aqua.tellsTogether = false;
  await serveFish(sea);
  await sea.until(() => sea.server.aggregator.discovery.kinds.length > 0);
  const [version] = sea.server.aggregator.discovery.versions;
  assert.deepEqual(version?.discovery.resources, [
    {
      resource: "fishes",
      responseKind: { group: "", version: "", kind: "Fish" },
      scope: "Namespaced",
      singularResource: "fish",
      verbs: ["create", "delete", "deletecollection", "get", "list", "watch"],
      shortNames: ["fi"],
      subresources: [
        { subresource: "talk", responseKind: { group: "", version: "", kind: "FishTalk" }, verbs: ["get"] },
      ],
    },
  ]);
});

test("an API says what keeps its server from answering, harms no other, and is there again as soon as it is cured", async (t) => {
  const sea = await world(t);
  const { call, condition, until, aqua } = sea;
  const becomes = (expected: string | RegExp) =>
    until(async () => {
      const is = await condition();
      return typeof expected === "string" ? is === expected : expected.test(is);
    }, String(expected));
  await call("POST", services, apiService);
  await becomes('False ServiceNotFound service/aqua in "sea" is not present');
  const { ask } = await front(t, sea);
  const refused = await ask("GET", fishes);
  assert.deepEqual([refused.code, refused.text], [503, "service unavailable\n"]);
  assert.equal((await ask("GET", "/api/v1/namespaces/sea/pods")).code, 200);
  const freshness = async () => {
    const { json } = await call("GET", "/apis", undefined, aggregated);
    return json.items.find((one: { metadata: { name: string } }) => one.metadata.name === group).versions;
  };
  assert.deepEqual(await freshness(), [{ version: "v1", freshness: "Stale" }]);
  assert.equal((await ask("GET", `/apis/${group}/v1`)).code, 503);

  await call("POST", "/api/v1/namespaces/sea/services", { ...service, spec: { ports: [{ port: 80 }] } });
  await becomes('False ServicePortError service/aqua in "sea" is not listening on port 443');
  await call(
    "PATCH",
    "/api/v1/namespaces/sea/services/aqua",
    { spec: service.spec },
    { "content-type": "application/merge-patch+json" },
  );
  await becomes('False EndpointsNotFound cannot find endpointslices for service/aqua in "sea"');
  await call("POST", slices, { ...slice, endpoints: [{ addresses: ["10.1.2.3"], conditions: { ready: false } }] });
  await becomes(
    'False MissingEndpoints endpointslices for service/aqua in "sea" have no addresses with port name "https"',
  );
  aqua.isIll = true;
  await call(
    "PATCH",
    `${slices}/aqua-1`,
    { endpoints: slice.endpoints },
    { "content-type": "application/merge-patch+json" },
  );
  const url = `https://10.1.2.3:8443/apis/${group}/v1`;
  await becomes(`False FailedDiscoveryCheck failing or missing response from ${url}: bad status from ${url}: 500`);
  aqua.isIll = false;
  await becomes("True Passed all checks passed");
  await until(async () => (await freshness())[0].freshness === "Current");
  const { json } = await call("GET", services, undefined, { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" });
  const [row] = (json as unknown as { rows: { cells: string[] }[] }).rows;
  assert.deepEqual(row?.cells.slice(0, 3), [name, "sea/aqua", "True"]);
  await call("DELETE", `${services}/${name}`);
  assert.equal((await ask("GET", `/apis/${group}`)).code, 404);
});

test("a server with a certificate of a strange authority, or that does not believe this one, is not available", async (t) => {
  const strange = { ...apiService, spec: { ...apiService.spec, caBundle: pem(makeAuthority(validity, "x").cert) } };
  const sea = await world(t);
  await sea.call("POST", "/api/v1/namespaces/sea/services", service);
  await sea.call("POST", slices, slice);
  await sea.call("POST", services, strange);
  await sea.until(async () => (await sea.condition()).includes("x509: certificate signed by unknown authority"));
  const other = await world(t, {}, proxyClient(makeAuthority(validity, "not the proxies'")));
  await other.call("POST", "/api/v1/namespaces/sea/services", service);
  await other.call("POST", slices, slice);
  await other.call("POST", services, apiService);
  await other.until(async () => (await other.condition()).endsWith(": 401"));
});
