// No byte of one request may reach a backend as another request. Whatever clients send on a connection (exec, attach, port-forward and the
// proxies of pods, services and nodes), the backend, which takes every byte literally, must see exactly the requests that were made, each with its
// own body: a kubelet believes whatever comes over the API server's connection, and users of one pod share its connections.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { kubeletConnection } from "#apiserver/host/kubelet-connection.ts";
import type { NodeConnection } from "#apiserver/node-connection.ts";
import { testServer } from "#apiserver/testing.ts";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { Certificates } from "#cluster/certificates.ts";
import { httpsFront } from "#serving/host/https/front.ts";
import { textOf } from "#serving/proxy/body.ts";
import { type Behaviour, behaviours, type LiteralBackend, literalBackend } from "./literal-backend.ts";

/** The request that must never arrive. */
const smuggled = "POST /smuggled/exec?command=id HTTP/1.1\r\nhost: kubelet\r\ncontent-length: 0\r\n\r\n";
const namespace = "/api/v1/namespaces/default";

interface Target {
  readonly name: string;
  readonly backend: "kubelet" | "pod";
  /** The path on our server that leads to the backend, which finds the word for its behaviour in what it gets. */
  path(behaviour: Behaviour): string;
}
const streams: readonly Target[] = ["exec?command=x&stdout=1", "attach?stdout=1", "portforward?ports=80"].map(
  (path) => ({
    name: `pods/${path.replace(/\?.*/, "")}`,
    backend: "kubelet",
    path: (behaviour) => `${namespace}/pods/${behaviour}/${path}`,
  }),
);
const proxy = (name: string, backend: Target["backend"], path: string): Target => ({
  name,
  backend,
  path: (behaviour) => `${path}/proxy/${behaviour}`,
});
const proxies: readonly Target[] = [
  proxy("pods/proxy", "pod", `${namespace}/pods/accept`),
  proxy("services/proxy", "pod", `${namespace}/services/web`),
  proxy("nodes/proxy", "kubelet", "/api/v1/nodes/n1"),
];

interface World {
  /** Without TLS, which would only make this slow. */
  readonly port: number;
  readonly securePort: number;
  readonly backends: Readonly<Record<Target["backend"], LiteralBackend>>;
}

async function world(t: TestContext): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "smuggling-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const certificates = new Certificates(folder, systemClock);
  const { cert: ca } = certificates.authority();
  const serving = certificates.issue("serving", { commonName: "server", hosts: ["127.0.0.1"] });
  const backends = { kubelet: await literalBackend(serving), pod: await literalBackend() };
  const real = kubeletConnection({ ca });
  // Loopback is refused where a pod or node claims it; so they claim others, and are found on loopback.
  const nodes: NodeConnection = {
    ...real,
    kubelet: (endpoint, request) => real.kubelet({ ...endpoint, host: "127.0.0.1", dialAddress: "127.0.0.1" }, request),
    fetch: (origin, request) => real.fetch({ ...origin, host: "127.0.0.1" }, request),
  };
  const server = await testServer({ nodes });
  const front = httpsFront({ ...serving, clientCa: ca, handler: server.server.handle, log: silentLog });
  t.after(async () => {
    await front.close(0);
    real.close();
    await server[Symbol.asyncDispose]();
    for (const backend of Object.values(backends)) await backend[Symbol.asyncDispose]();
  });
  const make = async (method: string, path: string, body: unknown) => {
    const { code, text } = await server.call(method, path, body, {
      "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json",
    });
    assert.ok(code < 300, text);
  };
  await make("POST", "/api/v1/nodes", { metadata: { name: "n1" } });
  await make("PATCH", "/api/v1/nodes/n1/status", {
    status: {
      addresses: [{ type: "InternalIP", address: "10.0.0.7" }],
      daemonEndpoints: { kubeletEndpoint: { Port: backends.kubelet.port } },
    },
  });
  const ports = [{ containerPort: backends.pod.port }];
  for (const name of behaviours) {
    const spec = { nodeName: "n1", containers: [{ name: "c", image: "x", ports }] };
    await make("POST", `${namespace}/pods`, { metadata: { name }, spec });
    await make("PATCH", `${namespace}/pods/${name}/status`, { status: { podIPs: [{ ip: "10.244.0.5" }] } });
  }
  const addresses = [{ ip: "10.244.0.5", targetRef: { kind: "Pod", namespace: "default", name: "accept" } }];
  const subsets = [{ addresses, ports: [{ port: backends.pod.port }] }];
  await make("POST", `${namespace}/endpoints`, { metadata: { name: "web" }, subsets });
  return {
    port: await front.listenUnsecured(0, "127.0.0.1"),
    securePort: await front.listen(0, "127.0.0.1"),
    backends,
  };
}

/** Sends bytes as they are; resolves with what came back by the end of the first answer's head, or of the connection. */
function sendRaw(port: number, bytes: string, leavesAfter?: Promise<void>): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let answer = "";
    const done = () => {
      socket.destroy();
      resolve(answer);
    };
    socket.on("data", (part) => {
      answer += part.toString("latin1");
      if (/^HTTP\/1\.1 (?!100).*\r\n\r\n/ms.test(answer)) done();
    });
    socket.on("close", done);
    socket.on("error", reject);
    socket.write(bytes);
    leavesAfter?.then(done, reject);
  });
}

interface Shape {
  readonly method: string;
  readonly headers: readonly string[];
  /** The bytes after the head, as they are. */
  readonly bytes?: string;
  /** What the backend may see as the body; it sees all of it, unless the client leaves. */
  readonly body?: string;
  /** The client goes before it has sent all. */
  readonly leaves?: boolean;
}

const chunked = (body: string): string => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
const length = `content-length: ${smuggled.length}`;
const upgrade = "upgrade: SPDY/3.1";

/** Requests to upgrade, with everything that could make a backend wait for more, or take more for the next request. */
const upgrades: Readonly<Record<string, Shape>> = {
  plain: { method: "POST", headers: ["connection: Upgrade", upgrade] },
  "a length and no body": { method: "POST", headers: ["connection: Upgrade", upgrade, length] },
  "a length and no body by GET": { method: "GET", headers: ["connection: Upgrade", upgrade, length] },
  "a length and a body": { method: "POST", headers: ["connection: Upgrade", upgrade, length], bytes: smuggled },
  "more than the length": {
    method: "POST",
    headers: ["connection: Upgrade", upgrade, "content-length: 0"],
    bytes: smuggled,
  },
  "bytes without a length": { method: "GET", headers: ["connection: Upgrade", upgrade], bytes: smuggled },
  "chunks announced": { method: "POST", headers: ["connection: Upgrade", upgrade, "transfer-encoding: chunked"] },
  chunks: {
    method: "POST",
    headers: ["connection: Upgrade", upgrade, "transfer-encoding: chunked"],
    bytes: chunked(smuggled),
  },
  "an empty chunk first": {
    method: "POST",
    headers: ["connection: Upgrade", upgrade, "transfer-encoding: chunked"],
    bytes: `0\r\n\r\n${smuggled}`,
  },
  "an expectation": { method: "POST", headers: ["connection: Upgrade", upgrade, length, "expect: 100-continue"] },
  trailers: {
    method: "POST",
    headers: ["connection: Upgrade, TE", upgrade, "te: trailers", "trailer: x-id", "transfer-encoding: chunked"],
    bytes: `0\r\nx-id: 0\r\n\r\n${smuggled}`,
  },
  "a connection that stays": {
    method: "POST",
    headers: ["connection: keep-alive, Upgrade", "keep-alive: timeout=60", upgrade, length],
  },
  "the length named as the connection's": {
    method: "POST",
    headers: ["connection: Upgrade, content-length", upgrade, length],
  },
  "an upgrade in one header only": {
    method: "POST",
    headers: ["connection: x-upgrade", upgrade, length],
    bytes: smuggled,
    body: smuggled,
  },
  "two protocols": {
    method: "GET",
    headers: ["connection: Upgrade", "upgrade: h2c, websocket", "http2-settings: AAA", length],
  },
};

const methods = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"];
/** Requests that do not upgrade, whose bodies must be framed for the backend as they were for us. */
const plain: Readonly<Record<string, (method: string) => Shape>> = {
  "no body": (method) => ({ method, headers: [] }),
  "a length": (method) => ({ method, headers: [length], bytes: smuggled, body: smuggled }),
  chunks: (method) => ({
    method,
    headers: ["transfer-encoding: chunked"],
    bytes: chunked(smuggled),
    body: smuggled,
  }),
  "the length named as the connection's": (method) => ({
    method,
    headers: ["connection: content-length", length],
    bytes: smuggled,
    body: smuggled,
  }),
  "chunks named as the connection's": (method) => ({
    method,
    headers: ["connection: transfer-encoding", "transfer-encoding: chunked"],
    bytes: chunked(smuggled),
    body: smuggled,
  }),
  "an expectation": (method) => ({
    method,
    headers: [length, "expect: 100-continue"],
    bytes: smuggled,
    body: smuggled,
  }),
  "another request behind": (method) => ({
    method,
    headers: ["content-length: 0"],
    bytes: smuggled,
  }),
  "a client that leaves": (method) => ({
    method,
    headers: [`content-length: ${smuggled.length + 9}`],
    bytes: smuggled,
    body: smuggled,
    leaves: true,
  }),
  "a client that leaves between chunks": (method) => ({
    method,
    headers: ["transfer-encoding: chunked"],
    bytes: chunked(smuggled).replace(/0\r\n\r\n$/, ""),
    body: smuggled,
    leaves: true,
  }),
};

/** What was sent to a backend, by the `x-id` that goes along. */
class Sent {
  readonly #shapes = new Map<string, Shape & { readonly upgrades: boolean }>();

  add(shape: Shape, upgrades: boolean): string {
    const id = `id-${this.#shapes.size}`;
    this.#shapes.set(id, { ...shape, upgrades });
    return id;
  }

  /** Every request that came must be one that was made, once, with its own body; an upgrade has a connection to itself. */
  check({ requests }: LiteralBackend): void {
    const seen = new Set<string>();
    for (const { connection, line, headers, body, isWhole } of requests) {
      const id = headers.get("x-id") ?? "";
      const shape = this.#shapes.get(id);
      assert.ok(shape, `${JSON.stringify(line)} was never sent`);
      assert.ok(!seen.has(id), `${line} came twice`);
      seen.add(id);
      const expected = shape.upgrades ? "" : (shape.body ?? "");
      if (isWhole && !shape.leaves) assert.equal(body, expected, `the body of ${line}`);
      else assert.ok(expected.startsWith(body), `the body of ${line}`);
      if (!shape.upgrades) continue;
      const alone = requests.filter((one) => one.connection === connection);
      assert.equal(alone.length, 1, `requests on the connection of ${line}`);
      for (const name of ["content-length", "transfer-encoding", "te", "trailer", "expect", "keep-alive"])
        assert.ok(["0", undefined].includes(headers.get(name)), `${name} of ${line}`);
    }
  }
}

const bytesOf = ({ method, headers, bytes = "" }: Shape, path: string, id: string): string =>
  `${[`${method} ${path} HTTP/1.1`, "host: 127.0.0.1", `x-id: ${id}`, ...headers].join("\r\n")}\r\n\r\n${bytes}`;

/** Someone else's request on the same way, whose header would be a request if anything before it were read as longer than it is. */
async function victim({ port, backends }: World, target: Target, sent: Sent): Promise<void> {
  const { path } = proxies.find(({ backend }) => backend === target.backend) ?? target;
  const shape = { method: "GET", headers: [`x-a: ${smuggled.slice(0, smuggled.indexOf("\r\n"))}`] };
  const id = sent.add(shape, false);
  const answer = await sendRaw(port, bytesOf(shape, path("accept"), id));
  assert.equal(codeOf(answer), 200, target.name);
  assert.equal(backends[target.backend].requests.at(-1)?.headers.get("x-id"), id);
}

for (const target of [...streams, ...proxies])
  test(`an upgrade of ${target.name} never becomes two requests`, async (t) => {
    const cluster = await world(t);
    const sent = new Sent();
    for (const shape of Object.values(upgrades))
      for (const behaviour of behaviours) {
        const id = sent.add(shape, shape.body === undefined);
        await sendRaw(cluster.port, bytesOf(shape, target.path(behaviour), id));
        await victim(cluster, target, sent);
      }
    sent.check(cluster.backends[target.backend]);
  });

for (const target of proxies)
  test(`a request to ${target.name} never becomes two requests`, async (t) => {
    const cluster = await world(t);
    const sent = new Sent();
    const backend = cluster.backends[target.backend];
    for (const method of methods)
      for (const [name, of] of Object.entries(plain))
        for (const behaviour of behaviours) {
          const shape = of(method);
          const id = sent.add(shape, false);
          const leavesAfter = shape.leaves ? backend.heads(backend.headCount + 1) : undefined;
          const answer = await sendRaw(cluster.port, bytesOf(shape, target.path(behaviour), id), leavesAfter);
          if (!shape.leaves)
            assert.equal(codeOf(answer), expectedCode[behaviour], `${method} with ${name}, ${behaviour}`);
          await victim(cluster, target, sent);
        }
    sent.check(backend);
  });

/** A backend that switches protocols without being asked to has not answered. */
const expectedCode: Readonly<Record<Behaviour, number>> = {
  refuse: 404,
  accept: 200,
  "answer-and-close": 200,
  "close-early": 503,
  switch: 503,
};

const codeOf = (answer: string): number => Number(/^HTTP\/1\.1 (?!100)(\d+)/m.exec(answer)?.[1]);

test("a body that comes by HTTP/2 without a length stays one body", async (t) => {
  const cluster = await world(t);
  const sent = new Sent();
  const session = connectHttp2(`https://127.0.0.1:${cluster.securePort}`, { rejectUnauthorized: false });
  t.after(() => session.destroy());
  for (const target of proxies)
    for (const method of methods) {
      // By HTTP/2 only a length says whether a request has a body before it comes; without one, these are taken to have none.
      const body = ["GET", "HEAD", "OPTIONS"].includes(method) ? "" : smuggled;
      const id = sent.add({ method, headers: [], body }, false);
      const request = session.request(
        { ":method": method, ":path": target.path("accept"), "x-id": id },
        { endStream: false },
      );
      request.end(smuggled);
      const code = await new Promise((resolve, reject) => {
        request.on("response", (headers: IncomingHttpHeaders) => resolve(headers[":status"]));
        request.on("error", reject);
        request.resume();
      });
      assert.equal(code, 200, `${method} of ${target.name}`);
      await victim(cluster, target, sent);
    }
  for (const backend of Object.values(cluster.backends)) sent.check(backend);
});

test("a body of another length than was announced ends its connection", async (t) => {
  const backend = await literalBackend();
  const connection = kubeletConnection({});
  t.after(async () => {
    connection.close();
    await backend[Symbol.asyncDispose]();
  });
  const origin = { scheme: "http", host: "127.0.0.1", port: backend.port } as const;
  const request = { method: "POST", url: "/accept", signal: t.signal };
  for (const announced of [smuggled.length + 9, smuggled.length - 9]) {
    const content = (async function* () {
      yield Buffer.from(smuggled);
    })();
    const headers = { "content-length": String(announced), "x-id": "first" };
    const answer = await connection.fetch(origin, { ...request, headers, content }).catch(() => undefined);
    if (answer) await textOf(answer.body).catch(() => undefined); // cut off, or whole
    await connection.fetch(origin, { ...request, method: "GET", headers: { "x-id": "second" } });
  }
  assert.deepEqual(
    backend.requests.filter(({ isWhole }) => isWhole).map(({ headers }) => headers.get("x-id")),
    ["second", "second"],
  );
});
