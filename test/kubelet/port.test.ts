// A kubelet's port: sockets opened inside a network namespace, and who is let in by a server that knows upstream's roles.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:https";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { publicPathsFirst } from "#apiserver/authorization/authorizer.ts";
import { testServer } from "#apiserver/testing.ts";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { Client } from "#client/client.ts";
import { Certificates, type KeyPair } from "#cluster/certificates.ts";
import * as identities from "#cluster/identities.ts";
import { identityBindings } from "#cluster/identity-bindings.ts";
import { kubeletCertificate, kubeletListener } from "#cluster/machine/kubelet-listener.ts";
import { NamespaceConnections } from "#cluster/machine/namespace-connections.ts";
import { networkNamespace } from "#cluster/machine/network-namespace.ts";
import { openInNamespace } from "#cluster/machine/open-in-namespace.ts";

const { signal } = new AbortController();
const impossible: string | false =
  process.getuid?.() !== 0
    ? "only root may make network namespaces"
    : ["/usr/sbin/ip", "/usr/bin/nsenter"].some((path) => !existsSync(path))
      ? "iproute2 or util-linux is not installed"
      : false;

let made = 0;
/** A namespace with a link to here, and its address. */
function namespace(t: TestContext): { readonly name: string; readonly address: string } {
  const name = `knarr-port-${process.pid}-${made++}`;
  const [here, there] = [`10.203.${process.pid % 250}.${4 * made + 1}`, `10.203.${process.pid % 250}.${4 * made + 2}`];
  const ip = (...args: string[]) => execFileSync("ip", args);
  t.after(() => ip("netns", "del", name));
  ip("netns", "add", name);
  const link = `kp${process.pid}-${made}`;
  ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name);
  ip("address", "add", `${here}/30`, "dev", link);
  ip("link", "set", link, "up");
  ip("-n", name, "address", "add", `${there}/30`, "dev", "eth0");
  for (const device of ["lo", "eth0"]) ip("-n", name, "link", "set", device, "up");
  return { name, address: there };
}

const children = () => readdirSync("/proc/self/task").flatMap((task) => kids(task));
const kids = (task: string) =>
  readFileSync(`/proc/self/task/${task}/children`, "utf8")
    .split(" ")
    .filter((pid) => pid !== "");

test("sockets of a namespace are opened in it and served from here, and no process is left", {
  skip: impossible,
}, async (t) => {
  const before = children();
  const { name, address } = namespace(t);
  const [tcp, udp] = await openInNamespace(
    name,
    [
      { address, port: 10250 },
      { address: "0.0.0.0", port: 0, protocol: "udp" },
    ],
    signal,
  );
  assert.ok(tcp?.protocol === "tcp" && udp?.protocol === "udp");
  // Connected before anyone serves: it waits.
  const early = connect(10250, address);
  const answered = new Promise((resolve) => early.on("data", (data) => resolve(String(data))));
  await new Promise((resolve) => early.once("connect", resolve));
  const server = createServer((socket) => socket.end("here"));
  server.listen(tcp.handle);
  assert.equal(await answered, "here");
  assert.equal(server.listening, true);
  await assert.rejects(openInNamespace(name, [{ address, port: 0 }, tcp], signal), {
    message: `${address}:10250/tcp in network namespace ${name} is taken by another program`,
  });
  await assert.rejects(openInNamespace(name, [{ address: "192.0.2.1", port: 1 }], signal), {
    message: `network namespace ${name} has no address 192.0.2.1`,
  });
  await assert.rejects(openInNamespace("knarr-none", [tcp], signal), {
    message: "network namespace knarr-none does not exist",
  });
  await assert.rejects(openInNamespace(name, [tcp], AbortSignal.abort(new Error("enough"))), /enough/);
  const stop = new AbortController();
  const stopped = openInNamespace(name, [{ address, port: 0 }], stop.signal);
  stop.abort(new Error("no more"));
  await assert.rejects(stopped, /no more/);
  early.destroy();
  udp.socket.close();
  await new Promise((resolve) => server.close(resolve));
  const [again] = await openInNamespace(name, [tcp], signal);
  assert.ok(again?.protocol === "tcp");
  again.handle.close();
  assert.deepEqual(children(), before);
});

test("a server on the loopback of a namespace is reached from here, and not from beside", {
  skip: impossible,
}, async (t) => {
  const { name, address } = namespace(t);
  const [tcp] = await openInNamespace(name, [{ address: "127.0.0.1", port: 0 }], signal);
  assert.ok(tcp?.protocol === "tcp");
  const { port } = tcp;
  const accepted = new Set<Socket>();
  const server = createServer((socket) => {
    accepted.add(socket);
    socket.on("data", (data) => socket.end(`heard ${data}`));
  });
  server.listen(tcp.handle);
  const outside = connect(port, address);
  await assert.rejects(new Promise((_, reject) => outside.once("error", reject)), /ECONNREFUSED/);

  const inside = new NamespaceConnections(name);
  const at = { host: "127.0.0.1", port };
  const ask = async (text: string): Promise<string> => {
    const socket = await inside.connect(at, signal);
    socket.end(text);
    let answer = "";
    for await (const part of socket) answer += part;
    return answer;
  };
  for (const text of ["one", "two", "three", "four", "five", "six"]) assert.equal(await ask(text), `heard ${text}`);
  // The two that are left are closed by the other end. Who gets one before that is noticed hears nothing; after them, nobody answers.
  const closed = new Promise((resolve) => server.close(resolve));
  for (const socket of accepted) socket.destroy();
  await closed;
  for (const text of ["seven", "eight"]) await ask(text).catch(() => undefined);
  await assert.rejects(ask("nine"), /connect in network namespace \S+: connect ECONNREFUSED/);
  await assert.rejects(inside.connect(at, AbortSignal.abort(new Error("enough"))), /enough/);
});

interface Asked {
  readonly code: number | undefined;
  readonly text: string;
}

test("a kubelet's port lets those in whom the API server lets", { skip: impossible }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "knarr-port-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const { name, address } = namespace(t);
  const certificates = new Certificates(folder, systemClock);
  const { cert: ca } = certificates.authority();
  const stranger = new Certificates(join(folder, "other"), systemClock);
  await using server = await testServer({
    bootstrapPolicy: true,
    authorizers: (own) => [publicPathsFirst, own.node, own.rbac],
    users: {
      master: { name: "m", groups: ["system:masters"] },
      reader: { name: "reader", groups: ["system:authenticated"] },
      nobody: { name: "nobody", groups: ["system:authenticated"] },
    },
  });
  await server.server.system({ address: undefined, port: 443 }, identityBindings).attempt(signal);
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  const master = { authorization: "Bearer master" };
  const role = {
    metadata: { name: "reader" },
    rules: [{ apiGroups: [""], resources: ["nodes/pods", "nodes/metrics"], verbs: ["get"] }],
  };
  assert.equal((await server.call("POST", `${rbac}/clusterroles`, role, master)).code, 201);
  const binding = {
    metadata: { name: "reader" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "reader" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "reader" }],
  };
  assert.equal((await server.call("POST", `${rbac}/clusterrolebindings`, binding, master)).code, 201);

  const stop = new AbortController();
  const listener = kubeletListener({
    node: "n1",
    handle: async ({ url }) => ({ code: 200, body: `served ${url}` }),
    // What the node itself may ask is upstream's to say as well.
    client: new Client({
      transport: server.server.request,
      user: identities.userOf(identities.node("n1")),
      userAgent: "kubelet/1",
      signal,
    }),
    clock: systemClock,
    log: silentLog,
    location: networkNamespace(name),
    address,
    port: 10250,
    certificate: () => kubeletCertificate(certificates, "n1", [address]),
    clientCa: ca,
  });
  const running = listener.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await running;
  });
  assert.equal(await listener.listening, 10250);

  const ask = (
    path: string,
    show: { token?: string; client?: KeyPair; servername?: string; method?: string } = {},
  ): Promise<Asked> =>
    new Promise((resolve, reject) => {
      const { token, client, servername, method = "GET" } = show;
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const names = servername === undefined ? {} : { servername };
      const host = { host: address, port: 10250, method, path, headers, ca, agent: false as const, ...names };
      const asked = request({ ...host, ...client }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
        response.on("end", () => resolve({ code: response.statusCode, text }));
      });
      asked.on("error", reject).end();
    });
  const client = certificates.issue("kubelet-client", identities.kubeletClient);
  assert.deepEqual(await ask("/pods", { client }), { code: 200, text: "served /pods" });
  assert.deepEqual(await ask("/pods?a=b", { client, servername: "n1" }), { code: 200, text: "served /pods?a=b" });
  assert.deepEqual(await ask("/healthz", { client, method: "HEAD" }), { code: 200, text: "" });
  assert.equal((await ask("/healthz", { token: "reader", method: "HEAD" })).code, 403, "no verb of the API");
  await assert.rejects(ask("/pods", { client, servername: "n2" }), { code: "ERR_TLS_CERT_ALTNAME_INVALID" });
  const other = stranger.issue("kubelet-client", identities.kubeletClient);
  for (const show of [{}, { token: "wrong" }, { client: other }])
    assert.deepEqual(await ask("/healthz", show), { code: 401, text: "Unauthorized" }, JSON.stringify(show));

  assert.equal((await ask("/exec/default/web/c", { token: "master" })).code, 200);
  for (const path of ["/pods", "/runningpods/", "/metrics/resource"])
    assert.equal((await ask(path, { token: "reader" })).code, 200, path);
  assert.deepEqual(await ask("/exec/default/web/c", { token: "reader" }), {
    code: 403,
    text: "Forbidden (user=reader, verb=create, resource=nodes, subresource(s)=[proxy])\n",
  });
  assert.deepEqual(await ask("/configz", { token: "nobody" }), {
    code: 403,
    text: "Forbidden (user=nobody, verb=get, resource=nodes, subresource(s)=[configz proxy])\n",
  });
});
