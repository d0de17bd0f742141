// Who is refused, over the wire: with which code, and that neither the answer nor the log tells anything that was to be kept secret.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { type TestServer, testServer } from "#apiserver/testing.ts";
import { systemClock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import { Certificates } from "#cluster/certificates.ts";
import { identityOptions, usualIdentity } from "#cluster/identity-options.ts";
import { httpsFront } from "#serving/host/https/front.ts";

interface Sent {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}
interface Answer {
  /** 0 if the connection was closed without an answer. */
  readonly code: number;
  readonly text: string;
}

interface World {
  readonly server: TestServer;
  /** What was logged, by the server and by its front. */
  readonly lines: string[];
  /** Sends a request exactly as it is written, by HTTP/1.1 and by HTTP/2; the answers must be the same. */
  ask(sent: Sent): Promise<Answer>;
  asAdmin(method: string, path: string, body?: unknown): ReturnType<TestServer["call"]>;
  /** A token of the account `robot` of the namespace `web`. */
  token(spec?: object): Promise<string>;
}

async function world(t: TestContext): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "refusals-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const certificates = new Certificates(folder, systemClock);
  const { cert: ca } = certificates.authority();
  const serving = certificates.issue("serving", { commonName: "server", hosts: ["127.0.0.1"] });
  const tokenFile = join(folder, "tokens.csv");
  writeFileSync(tokenFile, 'bobs-secret-token,bob,7,"devs"\nadmins-secret-token,admin,1,"system:masters"\n');
  const identity = identityOptions(
    { ...usualIdentity(folder), "token-auth-file": tokenFile, "service-account-extend-token-expiration": false },
    ca,
  );
  const lines: string[] = [];
  const log = recorded(lines);
  const server = await testServer({
    ...identity,
    log,
    bootstrapPolicy: true,
    authorizers: ({ node, rbac }) => [node, rbac],
  });
  t.after(() => server[Symbol.asyncDispose]());
  const front = httpsFront({ ...serving, clientCa: ca, handler: server.server.handle, log });
  const port = await front.listen(0, "127.0.0.1");
  t.after(() => front.close(1000));
  const asAdmin: World["asAdmin"] = (method, path, body) =>
    server.call(method, path, body, { authorization: "Bearer admins-secret-token" });
  for (const name of ["web", "kube-system"]) await asAdmin("POST", "/api/v1/namespaces", { metadata: { name } });
  await asAdmin("POST", "/api/v1/namespaces/web/serviceaccounts", { metadata: { name: "robot" } });
  await asAdmin("POST", "/api/v1/namespaces/kube-system/secrets", {
    metadata: { name: "treasure" },
    stringData: { map: "buried-under-the-palm" },
  });
  return {
    server,
    lines,
    asAdmin,
    async ask(sent) {
      const first = await overHttp1({ ca, port }, sent);
      const second = await overHttp2({ ca, port }, sent);
      if (first.code !== 0 && second.code !== 0)
        assert.equal(first.code, second.code, JSON.stringify(sent).slice(0, 200));
      return first.code === 0 ? second : first;
    },
    async token(spec = {}) {
      const { json, text } = await asAdmin("POST", "/api/v1/namespaces/web/serviceaccounts/robot/token", { spec });
      assert.ok(json.status?.token, text);
      return json.status.token;
    },
  };
}

function recorded(lines: string[]): Log {
  const note = (message: string, fields?: object) => void lines.push(`${message} ${JSON.stringify(fields, readable)}`);
  const log = { debug: note, info: note, warn: note, error: note, with: () => log };
  return log;
}
const readable = (_key: string, value: unknown) => (value instanceof Error ? `${value.stack} ${value.cause}` : value);

interface Address {
  readonly ca: string;
  readonly port: number;
}

/** Byte by byte, since clients tidy paths up. */
async function overHttp1({ ca, port }: Address, { method = "GET", path, headers = {}, body }: Sent): Promise<Answer> {
  const socket: TLSSocket = connectTls({ host: "127.0.0.1", port, ca });
  socket.on("error", () => undefined); // closed while it still writes: what was answered until then counts
  await once(socket, "secureConnect");
  const content = body === undefined ? "" : JSON.stringify(body);
  const head = Object.entries({ host: "x", connection: "close", "content-length": String(content.length), ...headers });
  socket.write(
    `${method} ${path} HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${content}`,
  );
  let text = "";
  socket.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  if (!socket.destroyed) await new Promise<void>((resolve) => socket.once("close", () => resolve()));
  const code = Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0);
  return { code, text };
}

async function overHttp2({ ca, port }: Address, { method = "GET", path, headers = {}, body }: Sent): Promise<Answer> {
  const session = connectHttp2(`https://127.0.0.1:${port}`, { ca });
  session.on("error", () => undefined);
  try {
    return await new Promise<Answer>((resolve) => {
      const stream = session.request({ ":method": method, ":path": path, ...headers });
      let [code, text] = [0, ""];
      stream.on("response", (head) => {
        code = Number(head[":status"]);
      });
      stream.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      stream.on("error", () => undefined);
      stream.on("close", () => resolve({ code, text }));
      stream.end(body === undefined ? undefined : JSON.stringify(body));
    });
  } finally {
    session.destroy();
  }
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const self: Sent = {
  method: "POST",
  path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
  headers: { "content-type": "application/json" },
  body: {},
};
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** How a token is spoilt, given one that is good. */
const spoilt: Readonly<Record<string, (w: World, good: string) => Promise<string> | string>> = {
  expired: async ({ server }, good) => {
    await server.clock.advance(3_700_000);
    return good;
  },
  "for another audience": ({ token }) => token({ audiences: ["vault"] }),
  "without algorithm": (_w, good) => {
    const [, payload = "", signature = ""] = good.split(".");
    return `${encode({ alg: "none" })}.${payload}.${signature}`;
  },
  "without algorithm or signature": (_w, good) => `${encode({ alg: "none", typ: "JWT" })}.${good.split(".")[1]}.`,
  "with claims of someone else": (_w, good) => {
    const [header = "", payload = "", signature = ""] = good.split(".");
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString());
    return `${header}.${encode({ ...claims, sub: "system:serviceaccount:kube-system:robot" })}.${signature}`;
  },
  "of an account that is gone": async ({ asAdmin }, good) => {
    assert.equal((await asAdmin("DELETE", "/api/v1/namespaces/web/serviceaccounts/robot")).code, 200);
    return good;
  },
  "of an account that was made anew": async ({ asAdmin }, good) => {
    await asAdmin("DELETE", "/api/v1/namespaces/web/serviceaccounts/robot");
    await asAdmin("POST", "/api/v1/namespaces/web/serviceaccounts", { metadata: { name: "robot" } });
    return good;
  },
  "bound to a pod that is gone": async ({ asAdmin, token }) => {
    const spec = { serviceAccountName: "robot", containers: [{ name: "c", image: "i" }] };
    await asAdmin("POST", "/api/v1/namespaces/web/pods", { metadata: { name: "p" }, spec });
    const bound = await token({ boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "p" } });
    assert.equal((await asAdmin("DELETE", "/api/v1/namespaces/web/pods/p?gracePeriodSeconds=0")).code, 200);
    return bound;
  },
  "of a file, cut short": () => "bobs-secret-toke",
};

for (const [name, spoil] of Object.entries(spoilt))
  test(`a token ${name} is refused, and told to nobody`, async (t) => {
    const w = await world(t);
    const good = await w.token();
    const { headers } = self;
    assert.equal((await w.ask({ ...self, headers: { ...headers, ...bearer(good) } })).code, 201);
    const bad = await spoil(w, good);
    const { code, text } = await w.ask({ ...self, headers: { ...headers, ...bearer(bad) } });
    assert.equal(code, 401);
    assert.match(text, /"reason":"Unauthorized"/);
    assert.match(text, /"message":"Unauthorized"/);
    keptSecret([text, ...w.lines], [bad, good, ...bad.split(".").filter((part) => part.length > 20)]);
  });

test("a token of a megabyte is refused before it is read", async (t) => {
  const w = await world(t);
  const huge = "a".repeat(1 << 20);
  const { code } = await w.ask({ ...self, headers: { ...self.headers, ...bearer(huge) } });
  assert.ok(code === 431 || code === 401 || code === 0, String(code));
  keptSecret(w.lines, [huge.slice(0, 64)]);
  assert.equal((await w.ask({ path: "/version", headers: bearer("bobs-secret-token") })).code, 200);
});

function keptSecret(told: readonly string[], secrets: readonly string[]): void {
  for (const secret of secrets) assert.ok(!told.some((text) => text.includes(secret)), `told: ${secret.slice(0, 12)}…`);
}

/** Ways to a secret that bob may not see, through what he may. */
const detours = [
  "/healthz/../api/v1/namespaces/kube-system/secrets/treasure",
  "/healthz/%2e%2e/api/v1/namespaces/kube-system/secrets/treasure",
  "/healthz/..%2fapi/v1/namespaces/kube-system/secrets/treasure",
  "/version/..//api/v1/namespaces/kube-system/secrets/treasure",
  "//api/v1/namespaces/kube-system/secrets/treasure",
  "/api//v1/namespaces/kube-system/secrets/treasure",
  "/api/v1//namespaces/kube-system/secrets/treasure",
  "/api/v1/namespaces//kube-system/secrets/treasure",
  "/api/v1/namespaces/web/../kube-system/secrets/treasure",
  "/api/v1/namespaces/web/%2e%2e/kube-system/secrets/treasure",
  "/api/v1/namespaces/web%2f..%2fkube-system/secrets/treasure",
  "/api/v1/namespaces/web/secrets/..%2f..%2fkube-system%2fsecrets%2ftreasure",
  "/api/v1/namespaces/web/secrets/../../kube-system/secrets/treasure",
  "/api/v1/namespaces/web/secrets/%2e%2e%2f%2e%2e%2fkube-system%2fsecrets%2ftreasure",
  "/api/v1/namespaces/web/secrets/..%5c..%5ckube-system%5csecrets%5ctreasure",
  "/api/v1/namespaces/web/secrets/%252e%252e/treasure",
  "/api/v1/namespaces/web/secrets/treasure%00",
  "/api/v1/namespaces/kube-system/secrets/treasure/",
  "/api/v1/namespaces/kube-system/secrets/treasure?x=/healthz",
  "/api/v1/namespaces/kube-system/secrets/treasure#/healthz",
  "/api/v1/namespaces/kube-system/secrets/treasure;/healthz",
  "/API/v1/namespaces/kube-system/secrets/treasure",
  "/api/v1/watch/namespaces/kube-system/secrets/treasure",
  "/api/v1/secrets?fieldSelector=metadata.name%3Dtreasure",
];

test("no detour of a path leads to what may not be seen", async (t) => {
  const w = await world(t);
  const rule = { verbs: ["*"], apiGroups: [""], resources: ["secrets"] };
  const roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/web";
  const apiGroup = "rbac.authorization.k8s.io";
  await w.asAdmin("POST", `${roles}/roles`, { metadata: { name: "all" }, rules: [rule] });
  await w.asAdmin("POST", `${roles}/rolebindings`, {
    metadata: { name: "all" },
    roleRef: { apiGroup, kind: "Role", name: "all" },
    subjects: [{ kind: "User", name: "bob", apiGroup }],
  });
  const headers = bearer("bobs-secret-token");
  assert.equal((await w.ask({ path: "/api/v1/namespaces/web/secrets", headers })).code, 200);
  for (const path of detours) {
    const { code, text } = await w.ask({ path, headers });
    assert.ok([400, 403, 404].includes(code), `${path}: ${code}`);
    keptSecret([text], ["buried-under-the-palm", Buffer.from("buried-under-the-palm").toString("base64")]);
  }
  keptSecret(w.lines, ["bobs-secret-token", "admins-secret-token", "buried-under-the-palm"]);
});

const asMaster = { "impersonate-user": "bob", "impersonate-group": "system:masters" };

test("nobody becomes a master by saying so", async (t) => {
  const w = await world(t);
  const treasure = "/api/v1/namespaces/kube-system/secrets/treasure";
  const ask = (more: Readonly<Record<string, string>>) =>
    w.ask({ path: treasure, headers: { ...bearer("bobs-secret-token"), ...more } });
  for (const headers of [
    {},
    asMaster,
    { "impersonate-user": "admin" },
    { "impersonate-user": "system:admin", "impersonate-group": "system:masters" },
    { ...asMaster, "impersonate-uid": "1" },
    { "x-remote-user": "admin", "x-remote-group": "system:masters" },
    { "Impersonate-User": "bob", "IMPERSONATE-GROUP": "system:masters" },
  ] as readonly Readonly<Record<string, string>>[]) {
    const { code, text } = await ask(lowered(headers));
    assert.equal(code, 403, JSON.stringify(headers));
    keptSecret([text], ["buried-under-the-palm"]);
  }
  const alone = await ask({ "impersonate-group": "system:masters" });
  assert.equal(alone.code, 400);

  // Who may take on any group in the newer way still may not take on this one.
  const apiGroup = "rbac.authorization.k8s.io";
  const rules = [
    { verbs: ["impersonate:user-info"], apiGroups: ["authentication.k8s.io"], resources: ["users", "groups"] },
    { verbs: ["impersonate-on:user-info:get"], apiGroups: [""], resources: ["secrets"] },
  ];
  await w.asAdmin("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", { metadata: { name: "actor" }, rules });
  await w.asAdmin("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata: { name: "actor" },
    roleRef: { apiGroup, kind: "ClusterRole", name: "actor" },
    subjects: [{ kind: "User", name: "bob", apiGroup }],
  });
  const refused = await ask(asMaster);
  assert.equal(refused.code, 403);
  assert.match(refused.text, /impersonating the system:masters group is not allowed/);
  keptSecret([refused.text, ...w.lines], ["bobs-secret-token", "buried-under-the-palm"]);
});

/** HTTP/2 has no capital letters in names. */
const lowered = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

test("what is asked of the server without a name is asked by nobody", async (t) => {
  const w = await world(t);
  for (const [path, code] of [
    ["/version", 200],
    ["/healthz", 200],
    ["/api", 403],
    ["/api/v1/namespaces/kube-system/secrets/treasure", 403],
    ["/metrics", 403],
  ] as const) {
    const answer = await w.ask({ path });
    assert.equal(answer.code, code, path);
    if (code === 403) assert.match(answer.text, /User \\"system:anonymous\\" cannot/);
  }
});
