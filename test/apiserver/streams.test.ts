// exec, attach, port-forward, logs, cp and proxy, end to end: an unmodified kubectl and other clients, our API server over
// HTTPS, and a kubelet that really runs processes. Everything listens on loopback.
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { type TestContext, test } from "node:test";
import { Exec, KubeConfig } from "@kubernetes/client-node";
import { WebSocket } from "ws";
import { kubeletConnection } from "#apiserver/host/kubelet-connection.ts";
import type { NodeConnection } from "#apiserver/node-connection.ts";
import { startTestKubelet, type TestKubelet } from "#apiserver/testing/kubelet.ts";
import { type TestServer, testServer } from "#apiserver/testing.ts";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { Certificates } from "#cluster/certificates.ts";
import { kubeconfig } from "#cluster/kubeconfig.ts";
import { httpsFront } from "#serving/host/https/front.ts";

const hasKubectl = spawnSync("kubectl", ["version", "--client"]).status === 0;
const withKubectl = { skip: hasKubectl ? false : "kubectl is not installed" };

interface World {
  readonly server: TestServer;
  readonly kubelet: TestKubelet;
  readonly port: number;
  readonly folder: string;
  readonly config: string;
  /** Connections open now, of the front and of the way to the nodes. */
  open(): Promise<number>;
  kubectl(args: readonly string[], options?: Run): Promise<Ran>;
  start(args: readonly string[], env?: Environment): ChildProcess;
}
type Environment = Readonly<Record<string, string>>;
interface Run {
  readonly input?: string | Buffer;
  readonly env?: Environment;
}
interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const pods = "/api/v1/namespaces/default/pods";

/** A cluster of one node that runs the pods `web`, with one container, and `two`, with two. */
async function world(t: TestContext, { webSockets }: { readonly webSockets: boolean }): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "streams-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const certificates = new Certificates(folder, systemClock);
  const authority = certificates.authority();
  const serving = certificates.issue("serving", { commonName: "server", hosts: ["127.0.0.1", "localhost"] });
  const client = certificates.issue("client", { commonName: "admin", organizations: ["system:masters"] });

  const kubelet = await startTestKubelet({ ...serving, clientCa: authority.cert, webSockets });
  t.after(() => kubelet.close());
  const real = kubeletConnection({ ...client, ca: authority.cert });
  t.after(() => real.close());
  // Addresses of pods lead nowhere on this machine; their servers are on loopback.
  const nodes: NodeConnection = {
    ...real,
    fetch: (origin, request) => real.fetch({ ...origin, host: "127.0.0.1" }, request),
  };
  const server = await testServer({ nodes });
  t.after(() => server[Symbol.asyncDispose]());
  const front = httpsFront({ ...serving, clientCa: authority.cert, handler: server.server.handle, log: silentLog });
  const port = await front.listen(0, "127.0.0.1");
  t.after(() => front.close(1000));

  const config = join(folder, "kubeconfig");
  writeFileSync(config, kubeconfig("test", `https://127.0.0.1:${port}`, authority.cert, client));
  await server.call("POST", "/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } });
  const merge = { "content-type": "application/merge-patch+json" };
  const status = {
    addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
    daemonEndpoints: { kubeletEndpoint: { Port: kubelet.port } },
    ...(webSockets && { declaredFeatures: ["ExtendWebSocketsToKubelet"] }),
  };
  const patched = await server.call("PATCH", "/api/v1/nodes/n1/status", { status }, merge);
  assert.equal(patched.code, 200, patched.text);
  for (const [name, containers] of Object.entries({ web: ["c"], two: ["a", "b"] })) {
    const spec = { nodeName: "n1", containers: containers.map((one) => ({ name: one, image: "x" })) };
    const made = await server.call("POST", pods, { apiVersion: "v1", kind: "Pod", metadata: { name }, spec });
    assert.equal(made.code, 201, made.text);
    const running = { phase: "Running", podIPs: [{ ip: "10.244.0.5" }], podIP: "10.244.0.5" };
    const shown = await server.call("PATCH", `${pods}/${name}/status`, { status: running }, merge);
    assert.equal(shown.code, 200, shown.text);
  }
  kubelet.logs.set("c", ["one", "two", "three"]);

  const start = (args: readonly string[], env: Environment = {}) => {
    const child = spawn("kubectl", args, { env: { PATH: process.env.PATH, HOME: folder, KUBECONFIG: config, ...env } });
    t.after(() => child.kill("SIGKILL"));
    return child;
  };
  return {
    server,
    kubelet,
    port,
    folder,
    config,
    start,
    open: () =>
      new Promise((resolve, reject) =>
        front.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
    async kubectl(args, { input, env } = {}) {
      const child = start(args, env);
      child.stdin?.on("error", () => undefined); // kubectl may leave before it has read all
      child.stdin?.end(input ?? "");
      const [stdout, stderr, code] = await Promise.all([
        collect(child.stdout),
        collect(child.stderr),
        new Promise<number | null>((resolve) => child.once("close", resolve)),
      ]);
      return { code, stdout, stderr };
    },
  };
}

async function collect(stream: AsyncIterable<Buffer> | null): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stream ?? []) parts.push(part);
  return Buffer.concat(parts).toString();
}

/** Reads until a pattern was seen. */
function until(child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> {
  let text = "";
  return new Promise((resolve, reject) => {
    child.stdout?.on("data", (part) => {
      text += part;
      const match = pattern.exec(text);
      if (match) resolve(match);
    });
    child.once("close", () => reject(new Error(`${pattern} did not come, only ${JSON.stringify(text)}`)));
  });
}

const clients: Readonly<Record<string, Environment>> = {
  "over WebSocket": { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: "true", KUBECTL_PORT_FORWARD_WEBSOCKETS: "true" },
  "over SPDY": { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: "false", KUBECTL_PORT_FORWARD_WEBSOCKETS: "false" },
};

for (const webSockets of [true, false])
  for (const [how, env] of Object.entries(clients)) {
    const kind = webSockets ? "a kubelet with WebSockets" : "a kubelet that knows SPDY alone";

    test(`kubectl exec ${how} to ${kind}: output, input, exit codes, bulk`, withKubectl, async (t) => {
      const { kubectl, kubelet } = await world(t, { webSockets });
      const plain = await kubectl(["exec", "web", "--", "sh", "-c", "echo out; echo err >&2"], { env });
      assert.deepEqual(plain, { code: 0, stdout: "out\n", stderr: "err\n" });
      const failing = await kubectl(["exec", "web", "--", "sh", "-c", "exit 7"], { env });
      assert.deepEqual([failing.code, failing.stderr], [7, "command terminated with exit code 7\n"]);
      const piped = await kubectl(["exec", "-i", "web", "--", "cat"], { env, input: "through and back" });
      assert.deepEqual(piped, { code: 0, stdout: "through and back", stderr: "" });
      const bulk = Buffer.alloc(3_000_000, "0123456789abcdef");
      const sum = await kubectl(["exec", "-i", "web", "--", "sh", "-c", "cat >&2; echo done"], {
        env,
        input: bulk,
      });
      assert.deepEqual([sum.code, sum.stdout, sum.stderr.length], [0, "done\n", 3_000_000]);
      const missing = await kubectl(["exec", "web", "--", "/no/such/program"], { env });
      assert.equal(missing.code, 1);
      assert.match(missing.stderr, /Internal error occurred|exec \/no\/such\/program/);
      const early = await kubectl(["exec", "-i", "web", "--", "head", "-c", "4"], { env, input: bulk });
      assert.deepEqual([early.code, early.stdout], [0, "0123"]);
      const passed = kubelet.requests.some((line) => line.endsWith("websocket"));
      assert.equal(passed, webSockets && how === "over WebSocket", kubelet.requests[0]);
    });

    test(`kubectl attach and cp ${how} with ${kind}`, withKubectl, async (t) => {
      const { kubectl, folder } = await world(t, { webSockets });
      const attached = await kubectl(["attach", "-i", "web"], { env, input: "hello\n" });
      assert.equal(attached.code, 0, attached.stderr);
      assert.match(attached.stdout, /attached\nhello\n$/);
      const [from, there, back] = ["from", "there", "back"].map((name) => join(folder, name)) as [
        string,
        string,
        string,
      ];
      writeFileSync(from, Buffer.alloc(300_000, "copy"));
      const up = await kubectl(["cp", from, `web:${there}`], { env });
      assert.equal(up.code, 0, up.stderr);
      const down = await kubectl(["cp", `web:${there}`, back], { env });
      assert.equal(down.code, 0, down.stderr);
      assert.ok(readFileSync(from).equals(readFileSync(back)));
    });

    test(`kubectl port-forward ${how} with ${kind}`, withKubectl, async (t) => {
      const { start, open } = await world(t, { webSockets });
      const body = "answer".repeat(50_000);
      const web = createServer((_request, response) => response.end(body));
      await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
      t.after(() => web.close());
      const child = start(
        ["port-forward", "web", `:${(web.address() as AddressInfo).port}`, "--address", "127.0.0.1"],
        env,
      );
      const [, port] = await until(child, /Forwarding from 127\.0\.0\.1:(\d+)/);
      const answers = await Promise.all(
        Array.from({ length: 5 }, async () =>
          (await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: "close" } })).text(),
        ),
      );
      assert.deepEqual(
        answers.map(({ length }) => length),
        answers.map(() => body.length),
      );
      child.kill("SIGTERM");
      await new Promise((resolve) => child.once("close", resolve));
      await settled(open);

      const deaf = start(["port-forward", "web", ":1", "--address", "127.0.0.1"], env);
      const [, closed] = await until(deaf, /Forwarding from 127\.0\.0\.1:(\d+)/);
      const told = new Promise<string>((resolve) => deaf.stderr?.on("data", (part) => resolve(String(part))));
      await assert.rejects(fetch(`http://127.0.0.1:${closed}/`));
      assert.match(await told, /error forwarding port 1 to pod web, uid web-uid: connect ECONNREFUSED 127\.0\.0\.1:1/);
    });
  }

/** Waits until every connection has been closed. */
async function settled(open: () => Promise<number>): Promise<void> {
  for (let round = 0; (await open()) > 0; round++) {
    assert.ok(round < 6000, "connections stay open");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test("kubectl logs: all, the tail, as they come, and what is refused", withKubectl, async (t) => {
  const { kubectl, start, kubelet, server } = await world(t, { webSockets: true });
  assert.deepEqual(await kubectl(["logs", "web"]), { code: 0, stdout: "one\ntwo\nthree\n", stderr: "" });
  assert.equal((await kubectl(["logs", "web", "--tail=1"])).stdout, "three\n");
  const previous = await kubectl(["logs", "web", "--previous"]);
  assert.match(previous.stderr, /previous terminated container "c" in pod "web" not found/);
  const follow = start(["logs", "-f", "web"]);
  await until(follow, /three\n/);
  const more = until(start(["logs", "-f", "web"]), /four\n/);
  kubelet.logs.get("c")?.push("four");
  const ticking = setInterval(() => kubelet.wrote(), 20);
  t.after(() => clearInterval(ticking));
  await more;
  const call = async (query: string) => {
    const { code, json } = await server.call("GET", `${pods}/two/log${query}`);
    return [code, json.message];
  };
  assert.deepEqual(await call(""), [400, "a container name must be specified for pod two, choose one of: [a b]"]);
  assert.deepEqual(await call("?container=z"), [400, "container z is not valid for pod two"]);
  assert.deepEqual(await call("?tailLines=x"), [400, 'strconv.ParseInt: parsing "x": invalid syntax']);
  assert.deepEqual(await call("?limitBytes=0"), [
    422,
    'PodLogOptions "two" is invalid: limitBytes: Invalid value: 0: must be greater than 0',
  ]);
  assert.deepEqual(await call("?container=b"), [
    404,
    "the server could not find the requested resource ( pods/log two)",
  ]);
});

test("kubectl get --raw reaches pods and services through the proxy", withKubectl, async (t) => {
  const { kubectl, server } = await world(t, { webSockets: true });
  const web = createServer((request, response) => {
    if (request.url === "/moved") response.writeHead(302, { location: "/elsewhere" });
    response.end(JSON.stringify({ url: request.url, headers: request.headers }));
  });
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  t.after(() => web.close());
  const { port } = web.address() as AddressInfo;
  const raw = await kubectl(["get", "--raw", `${pods}/web:${port}/proxy/a%20b/../c/?x=1&y`]);
  assert.equal(raw.code, 0, raw.stderr);
  const seen = JSON.parse(raw.stdout);
  assert.equal(seen.url, "/c/?x=1&y="); // kubectl itself writes the query anew
  assert.deepEqual([seen.headers.authorization, seen.headers["x-forwarded-for"]], [undefined, "127.0.0.1"]);
  assert.equal(seen.headers["x-forwarded-uri"], `${pods}/web:${port}/proxy/c/`);

  const services = "/api/v1/namespaces/default/services";
  const made = await server.call("POST", services, {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "svc" },
    spec: { ports: [{ name: "http", port: 80, targetPort: port }] },
  });
  assert.equal(made.code, 201, made.text);
  const none = await kubectl(["get", "--raw", `${services}/svc:http/proxy/`]);
  assert.match(none.stderr, /NotFound|endpoints "svc" not found/);
  const endpoints = await server.call("POST", "/api/v1/namespaces/default/endpoints", {
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: { name: "svc" },
    subsets: [
      {
        addresses: [{ ip: "10.244.0.5", targetRef: { kind: "Pod", namespace: "default", name: "web" } }],
        ports: [{ name: "http", port }],
      },
    ],
  });
  assert.equal(endpoints.code, 201, endpoints.text);
  for (const name of ["svc:80", "svc:http", "http:svc:http"]) {
    const answer = await kubectl(["get", "--raw", `${services}/${name}/proxy/hello`]);
    assert.equal(JSON.parse(answer.stdout).url, "/hello", answer.stderr);
  }
  assert.match(
    (await kubectl(["get", "--raw", `${services}/svc:81/proxy/`])).stderr,
    /no service port 81 found for service "svc"/,
  );
  const { headers } = await server
    .call("GET", `${services}/svc:http/proxy/moved`)
    .catch(() => ({ headers: undefined }));
  assert.equal(headers, undefined); // a stream, which this caller does not take
});

test("@kubernetes/client-node runs a command, and its input ends", async (t) => {
  const { config, open } = await world(t, { webSockets: true });
  const kc = new KubeConfig();
  kc.loadFromFile(config);
  const [stdout, stderr, stdin] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const output = collect(stdout);
  const status = new Promise<{ status?: string }>((resolve, reject) => {
    new Exec(kc)
      .exec("default", "web", "c", ["sh", "-c", "head -n 1; exit 3"], stdout, stderr, stdin, false, resolve)
      .catch(reject);
    stdin.end("from node\n");
  });
  const ended = await status;
  stdout.end();
  assert.deepEqual([await output, ended.status], ["from node\n", "Failure"]);
  await settled(open);
});

/** A WebSocket of `ws`, an implementation that is not ours. */
function socket({ port, config }: World, path: string, protocols: readonly string[]): WebSocket {
  const kc = new KubeConfig();
  kc.loadFromFile(config);
  const [cluster, user] = [kc.getCurrentCluster(), kc.getCurrentUser()];
  const data = (text: string | undefined) => Buffer.from(text ?? "", "base64");
  return new WebSocket(`wss://127.0.0.1:${port}${path}`, [...protocols], {
    ca: data(cluster?.caData),
    cert: data(user?.certData),
    key: data(user?.keyData),
  });
}

test("every WebSocket protocol says how the command ended", async (t) => {
  const all = await world(t, { webSockets: true });
  const exec = `${pods}/web/exec?command=sh&command=-c&command=echo%20hi%3B%20exit%202&stdout=1&stderr=1`;
  const table: readonly [string[], string, RegExp][] = [
    [[], "hi\n", /^command terminated with non-zero exit code: exit status 2$/],
    [["channel.k8s.io"], "hi\n", /^command terminated/],
    [["base64.channel.k8s.io"], "hi\n", /^command terminated/],
    [["v4.channel.k8s.io"], "hi\n", /"reason":"ExitCode","message":"2"/],
    [["v4.base64.channel.k8s.io"], "hi\n", /"reason":"ExitCode","message":"2"/],
    [["v5.channel.k8s.io", "v4.channel.k8s.io"], "hi\n", /"reason":"ExitCode","message":"2"/],
  ];
  for (const [protocols, output, end] of table) {
    const ws = socket(all, exec, protocols);
    const channels = new Map<number, string>();
    ws.on("message", (data: Buffer, isBinary) => {
      const channel = isBinary ? data[0]! : Number(data.subarray(0, 1).toString());
      const text = isBinary
        ? data.subarray(1).toString()
        : Buffer.from(data.subarray(1).toString(), "base64").toString();
      channels.set(channel, (channels.get(channel) ?? "") + text);
    });
    const [code] = await new Promise<[number]>((resolve, reject) => {
      ws.on("close", (closed) => resolve([closed]));
      ws.on("error", reject);
    });
    assert.equal(code, 1000);
    assert.equal(ws.protocol, protocols[0] ?? "");
    assert.equal(channels.get(1), output, protocols[0]);
    assert.match(channels.get(3) ?? "", end, protocols[0]);
  }
  await settled(all.open);
});

test("the old port-forward over channels names its ports, and carries both ways", async (t) => {
  const all = await world(t, { webSockets: true });
  const echo = createServer((_request, response) => response.end("echoed"));
  await new Promise<void>((resolve) => echo.listen(0, "127.0.0.1", resolve));
  t.after(() => echo.close());
  const { port } = echo.address() as AddressInfo;
  const ws = socket(all, `${pods}/web/portforward?ports=${port}`, ["v4.channel.k8s.io"]);
  const data: Buffer[] = [];
  ws.on("message", (part: Buffer) => data.push(part));
  await new Promise((resolve, reject) => ws.once("open", resolve).once("error", reject));
  ws.send(Buffer.concat([Buffer.from([0]), Buffer.from("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")]));
  await new Promise((resolve) => ws.once("close", resolve));
  assert.deepEqual(data[0], Buffer.from([0, port & 0xff, port >> 8]));
  assert.deepEqual(data[1], Buffer.from([1, port & 0xff, port >> 8]));
  assert.match(Buffer.concat(data.slice(2).map((part) => part.subarray(1))).toString(), /echoed$/);
});

test("a client that leaves takes its command with it", async (t) => {
  const all = await world(t, { webSockets: true });
  const ws = socket(all, `${pods}/web/exec?command=sleep&command=60&stdout=1`, ["v5.channel.k8s.io"]);
  await new Promise((resolve, reject) => ws.once("message", resolve).once("error", reject));
  assert.equal(all.kubelet.running(), 1);
  ws.terminate();
  await settled(all.open);
  await settled(async () => all.kubelet.running());
});

for (const webSockets of [true, false])
  test(`a client that does not read holds up its command, ${webSockets ? "tunnelled" : "translated"}`, {
    timeout: 120_000,
  }, async (t) => {
    const all = await world(t, { webSockets });
    const mark = join(all.folder, "written");
    const size = 40_000_000;
    const script = `head -c ${size} /dev/zero; touch ${mark}`;
    const query = new URLSearchParams({ stdout: "1" });
    for (const word of ["sh", "-c", script]) query.append("command", word);
    const ws = socket(all, `${pods}/web/exec?${query}`, ["v5.channel.k8s.io"]);
    let seen = 0;
    ws.on("message", (data: Buffer) => {
      if (data[0] === 1) seen += data.length - 1;
    });
    await new Promise((resolve, reject) => ws.once("open", resolve).once("error", reject));
    ws.pause();
    // Nothing can be waited for here: were it not held up, the command would be done in a fraction of this.
    for (let round = 0; round < 50; round++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      assert.equal(existsSync(mark), false, "the command wrote all of it although nobody read");
    }
    ws.resume();
    await new Promise((resolve) => ws.once("close", resolve));
    assert.deepEqual([seen, existsSync(mark)], [size, true]);
    await settled(all.open);
    await settled(async () => all.kubelet.running());
  });

test("refusals come as a Status before anything is upgraded", async (t) => {
  const all = await world(t, { webSockets: true });
  const { server } = all;
  const call = async (method: string, path: string, headers = {}) => {
    const { code, json } = await server.call(method, path, undefined, headers);
    return [code, json.message];
  };
  const upgrade = { connection: "Upgrade", upgrade: "SPDY/3.1", "x-stream-protocol-version": "v4.channel.k8s.io" };
  assert.deepEqual(await call("POST", `${pods}/web/exec?command=x&stdout=1`), [400, "Upgrade request required"]);
  assert.deepEqual(await call("POST", `${pods}/nope/exec`, upgrade), [404, 'pods "nope" not found']);
  assert.deepEqual(await call("POST", `${pods}/two/exec`, upgrade), [
    400,
    "a container name must be specified for pod two, choose one of: [a b]",
  ]);
  assert.deepEqual(await call("PUT", `${pods}/web/exec`, upgrade), [
    405,
    "the server does not allow this method on the requested resource",
  ]);
  const lonely = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "lonely" },
    spec: { containers: [{ name: "c", image: "x" }] },
  };
  await server.call("POST", pods, lonely);
  assert.deepEqual(await call("POST", `${pods}/lonely/portforward`, upgrade), [
    400,
    "pod lonely does not have a host assigned",
  ]);
  assert.equal((await server.call("GET", `${pods}/lonely/log`)).code, 204);
  assert.deepEqual(await call("GET", `${pods}/lonely/proxy/`), [400, "address not allowed"]);
  assert.deepEqual(await call("GET", "/api/v1/nodes/n1/proxy/pods"), [400, "address not allowed"]);
  assert.deepEqual(await call("GET", `${pods}/ftp:web:1/proxy/`), [400, 'invalid pod request "ftp:web:1"']);
  assert.equal((await server.call("GET", `${pods}/web/proxy`)).headers?.location, `${pods}/web/proxy/`);

  const ws = socket(all, `${pods}/web/exec?command=true&stdout=1`, ["v9.channel.k8s.io"]);
  const code = await new Promise((resolve) =>
    ws.on("unexpected-response", (_request, response) => resolve(response.statusCode)),
  );
  assert.equal(code, 403);
  const merge = { "content-type": "application/merge-patch+json" };
  const gone = { status: { daemonEndpoints: { kubeletEndpoint: { Port: 1 } } } };
  await server.call("PATCH", "/api/v1/nodes/n1/status", gone, merge);
  const [dialed, why] = await call("POST", `${pods}/web/exec?stdout=1&command=x`, upgrade);
  assert.equal(dialed, 500);
  assert.match(String(why), /^error dialing backend: dial tcp 127\.0\.0\.1:1: connect: connection refused$/);
});

test("a raw connection that upgrades and sends nonsense is closed", async (t) => {
  const all = await world(t, { webSockets: true });
  const ws = socket(all, `${pods}/web/exec?command=cat&stdin=1&stdout=1`, ["v5.channel.k8s.io"]);
  await new Promise((resolve, reject) => ws.once("open", resolve).once("error", reject));
  const raw = (ws as unknown as { _socket: ReturnType<typeof connect> })._socket;
  raw.write(Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]));
  await new Promise((resolve) => ws.once("close", resolve));
  await settled(all.open);
});
