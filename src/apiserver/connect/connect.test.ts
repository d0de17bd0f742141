import assert from "node:assert/strict";
import { test } from "node:test";
import { type OutgoingRequest, Unreachable } from "#serving/proxy/outgoing.ts";
import type { HttpResponse } from "#wire/http.ts";
import { type NodeConnection, noConnection } from "../node-connection.ts";
import { admitAll } from "../registry/admission.ts";
import { type TestOptions, type TestServer, testServer, testUser } from "../testing.ts";
import { isGlobalUnicast } from "./location.ts";

const pods = "/api/v1/namespaces/default/pods";
const merge = { "content-type": "application/merge-patch+json" };
const spdy = { connection: "Upgrade", upgrade: "SPDY/3.1", "x-stream-protocol-version": "v4.channel.k8s.io" };

interface Asked {
  readonly to: string;
  readonly request: OutgoingRequest;
}

/** A way into the cluster that notes what goes there and answers `ok`. */
function notes(answer: Partial<HttpResponse> = {}): { readonly asked: Asked[]; readonly nodes: NodeConnection } {
  const asked: Asked[] = [];
  const note = async (to: string, request: OutgoingRequest): Promise<HttpResponse> => {
    asked.push({ to, request });
    return { code: 200, body: "ok", ...answer };
  };
  const nodes: NodeConnection = {
    ...noConnection,
    kubelet: ({ node, host, port }, request) => note(`${node}=${host}:${port}`, request),
    fetch: ({ scheme, host, port }, request) => note(`${scheme}://${host}:${port}`, request),
  };
  return { asked, nodes };
}

async function cluster(options: TestOptions): Promise<TestServer> {
  const s = await testServer({ users: { x: testUser }, ...options });
  await s.call("POST", "/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } });
  const addresses = [
    { type: "ExternalIP", address: "203.0.113.9" },
    { type: "InternalIP", address: "10.0.0.7" },
  ];
  await s.call("PATCH", "/api/v1/nodes/n1/status", { status: { addresses } }, merge);
  const spec = {
    nodeName: "n1",
    initContainers: [{ name: "init", image: "x" }],
    containers: [{ name: "c", image: "x", ports: [{ containerPort: 8080 }] }],
  };
  await s.call("POST", pods, { apiVersion: "v1", kind: "Pod", metadata: { name: "web" }, spec });
  const made = await s.call("PATCH", `${pods}/web/status`, { status: { podIPs: [{ ip: "10.244.0.5" }] } }, merge);
  assert.equal(made.code, 200, made.text);
  return s;
}

test("a kubelet is reached by the address that is preferred", async () => {
  for (const [addressTypes, to] of [
    [["ExternalIP", "InternalIP"], "n1=203.0.113.9:10250"],
    [["Hostname", "InternalIP"], "n1=10.0.0.7:10250"],
  ] as const) {
    const { asked, nodes } = notes({ code: 500 });
    await using s = await cluster({ nodes: { ...nodes, addressTypes } });
    await s.call("GET", `${pods}/web/log`);
    assert.equal(asked[0]?.to, to);
  }
  const { nodes } = notes();
  await using s = await cluster({ nodes: { ...nodes, addressTypes: ["Hostname"] } });
  const { code, json } = await s.call("GET", `${pods}/web/log`);
  assert.deepEqual(
    [code, json.message],
    [503, "no preferred addresses found; known addresses: [203.0.113.9 10.0.0.7]"],
  );
});

test("options of a request become a kubelet's query", async () => {
  const { asked, nodes } = notes({ code: 500 });
  await using s = await cluster({ nodes });
  const table: readonly [string, string, string, string][] = [
    [
      "POST",
      "exec?command=sh&command=-c&command=a%20b&stdin=true&stdout&stderr=false&tty=0",
      "n1=10.0.0.7:10250",
      "/exec/default/web/c?command=sh&command=-c&command=a+b&input=1&output=1",
    ],
    ["GET", "attach?container=init&stderr=1&tty=1", "n1=10.0.0.7:10250", "/attach/default/web/init?error=1&tty=1"],
    ["POST", "portforward?ports=80&ports=81", "n1=10.0.0.7:10250", "/portForward/default/web?port=80%2C81"],
    ["POST", "portforward?ports=80,81&ports=82", "n1=10.0.0.7:10250", "/portForward/default/web?port=80%2C81%2C82"],
    ["POST", "portforward", "n1=10.0.0.7:10250", "/portForward/default/web"],
    [
      "GET",
      "log?follow=true&tailLines=5&timestamps=1&sinceTime=2026-01-02T03:04:05.6%2B01:00",
      "n1=10.0.0.7:10250",
      "/containerLogs/default/web/c?follow=true&sinceTime=2026-01-02T02%3A04%3A05Z&tailLines=5&timestamps=true",
    ],
  ];
  for (const [method, path, to, url] of table) {
    await s.call(method, `${pods}/web/${path}`, undefined, { ...spdy, authorization: "Bearer x" });
    const last = asked.at(-1)!;
    assert.deepEqual([last.to, last.request.url], [to, url]);
    assert.equal(last.request.headers.authorization, undefined);
    if (!path.startsWith("log")) assert.equal(last.request.headers.upgrade, "SPDY/3.1");
  }
});

test("ports that are none are refused as upstream does", async () => {
  await using s = await cluster({ nodes: notes().nodes });
  for (const [text, port, why] of [
    ["80,x", "x", "invalid syntax"],
    ["80,", "", "invalid syntax"],
    ["-1", "-1", "invalid syntax"],
    ["65536", "65536", "value out of range"],
  ] as const) {
    const { code, json } = await s.call("POST", `${pods}/web/portforward?ports=${text}`, undefined, spdy);
    const message = `cannot convert to []int32: strconv.ParseUint: parsing ${JSON.stringify(port)}: ${why}`;
    assert.deepEqual([code, json.message], [400, message]);
  }
});

test("a log that makes no sense is refused as upstream does", async () => {
  await using s = await cluster({ nodes: notes({ code: 503, body: "busy" }).nodes });
  const table: readonly [string, number, string][] = [
    ["sinceSeconds=0", 422, 'PodLogOptions "web" is invalid: sinceSeconds: Invalid value: 0: must be greater than 0'],
    [
      "tailLines=-1",
      422,
      'PodLogOptions "web" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0',
    ],
    ["stream=Stdout", 422, 'PodLogOptions "web" is invalid: stream: Forbidden: may not be specified'],
    ["limitBytes=99999999999999999999", 400, 'strconv.ParseInt: parsing "99999999999999999999": value out of range'],
    ["", 503, "the server is currently unable to handle the request ( pods/log web)"],
  ];
  for (const [query, code, message] of table) {
    const { code: answered, json } = await s.call("GET", `${pods}/web/log?${query}`);
    assert.deepEqual([answered, json.message], [code, message]);
  }
});

test("exec takes the right to create even when it is a GET; a log takes the right to get", async () => {
  const reader = { name: "reader", groups: [] };
  await using s = await cluster({
    nodes: notes().nodes,
    users: { r: reader },
    authorizers: () => [
      ({ user, verb }) => (user.name !== "reader" || verb === "get" ? { decision: "allow" } : { decision: "none" }),
    ],
  });
  const as = { ...spdy, authorization: "Bearer r" };
  const exec = await s.call("GET", `${pods}/web/exec?stdout=1&command=x`, undefined, as);
  assert.equal(exec.code, 403);
  assert.equal(exec.json.message, 'pods "web" is forbidden: '); // upstream's words: what authorizers say, and nothing else
  assert.equal((await s.call("POST", `${pods}/web/portforward`, undefined, as)).code, 403);
  assert.equal((await s.call("DELETE", `${pods}/web/proxy/x`, undefined, as)).code, 403);
  assert.equal((await s.call("GET", `${pods}/web/proxy/x`, undefined, { authorization: "Bearer r" })).code, 200);
});

test("a node's proxy takes the right to create for whatever runs commands", async () => {
  const { asked, nodes } = notes();
  await using s = await cluster({
    nodes,
    users: { r: { name: "reader", groups: [] } },
    authorizers: () => [
      ({ user, verb }) => (user.name !== "reader" || verb === "get" ? { decision: "allow" } : { decision: "none" }),
    ],
  });
  const paths = ["exec/a/b/c", "attach/a/b/c", "run/a/b/c", "portForward/a/b", "%65xec/a/b/c", "x/../exec/a/b/c"];
  for (const path of [...paths, "/exec/a/b/c", "./%2e/exec/a/b/c", "%2Fexec/a/b/c"])
    for (const headers of [{}, spdy]) {
      const as = { ...headers, authorization: "Bearer r" };
      const { code, json } = await s.call("GET", `/api/v1/nodes/n1/proxy/${path}`, undefined, as);
      assert.equal(code, 403, path);
      assert.match(json.message, /^nodes "n1" is forbidden: /);
    }
  assert.equal(asked.length, 0);
  for (const path of ["pods", "execs", "containerLogs/a/b/exec", "metrics"]) {
    const as = { authorization: "Bearer r" };
    assert.equal((await s.call("GET", `/api/v1/nodes/n1/proxy/${path}`, undefined, as)).code, 200, path);
  }
});

test("a node's proxy dials the address that was checked, whatever its name leads to next", async () => {
  const { nodes } = notes();
  const dialled: unknown[] = [];
  const answers = [["10.0.0.7"], ["127.0.0.1"]];
  await using s = await cluster({
    nodes: {
      ...nodes,
      resolve: async () => answers.shift() ?? [],
      kubelet: async ({ dialAddress }) => {
        dialled.push(dialAddress);
        return { code: 200, body: "ok" };
      },
      fetch: async ({ dialAddress }) => {
        dialled.push(dialAddress);
        return { code: 200, body: "ok" };
      },
    },
  });
  assert.equal((await s.call("GET", "/api/v1/nodes/n1/proxy/pods")).code, 200);
  assert.equal((await s.call("GET", "/api/v1/nodes/n1/proxy/pods")).code, 400);
  answers.push(["10.0.0.8"]);
  assert.equal((await s.call("GET", "/api/v1/nodes/n1:9100/proxy/metrics")).code, 200);
  assert.deepEqual(dialled, ["10.0.0.7", "10.0.0.8"]);
});

test("whoever acts as another has that one's rights, and neither's credentials travel on", async () => {
  const { asked, nodes } = notes({ code: 500 });
  await using s = await cluster({
    nodes,
    authorizers: () => [
      ({ user, verb }) => (user.name !== "reader" || verb === "get" ? { decision: "allow" } : { decision: "none" }),
    ],
  });
  const socket = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-protocol": "base64url.bearer.authorization.k8s.io.c2VjcmV0, v4.channel.k8s.io",
  };
  const exec = `${pods}/web/exec?stdout=1&command=x`;
  const denied = await s.call("GET", exec, undefined, { ...socket, "impersonate-user": "reader" });
  assert.deepEqual([denied.code, asked.length], [403, 0]);
  assert.equal(denied.json.message, 'pods "web" is forbidden: ');
  await s.call("GET", exec, undefined, { ...socket, "impersonate-user": "other", authorization: "Bearer x" });
  const { headers } = asked[0]!.request;
  assert.deepEqual(
    ["authorization", "impersonate-user", "sec-websocket-protocol"].map((name) => headers[name]),
    [undefined, undefined, "v4.channel.k8s.io"],
  );
});

test("admission sees the options of a connection, and may refuse it", async () => {
  const seen: unknown[] = [];
  const { asked, nodes } = notes();
  await using s = await cluster({
    nodes,
    admission: {
      ...admitAll,
      async validate({ operation, request }, object) {
        if (operation !== "connect") return;
        seen.push([request.subresource, object?.kind, object?.command ?? object?.path]);
        if (request.subresource === "exec") throw new Unreachable("not today");
      },
    },
  });
  await s.call("POST", `${pods}/web/exec?command=rm&command=-rf`, undefined, spdy);
  await s.call("GET", `${pods}/web/proxy/a/b`);
  assert.deepEqual(seen, [
    ["exec", "PodExecOptions", ["rm", "-rf"]],
    ["proxy", "PodProxyOptions", "/a/b"],
  ]);
  assert.deepEqual(
    asked.map(({ request }) => request.url),
    ["/a/b"],
  );
});

test("a proxy passes on what was asked, without credentials, and cannot be made to climb", async () => {
  const { asked, nodes } = notes();
  await using s = await cluster({ nodes });
  const table: readonly [string, string, string][] = [
    ["pods/web/proxy/", "http://10.244.0.5:8080", "/"],
    ["pods/web/proxy/a//b/../c%2Fd?x=%20&y", "http://10.244.0.5:8080", "/a/c%2Fd?x=%20&y"],
    ["pods/web/proxy/%2e%2e/%2e%2e/secret", "http://10.244.0.5:8080", "/secret"],
    ["pods/https:web:9443/proxy/x/", "https://10.244.0.5:9443", "/x/"],
  ];
  for (const [path, to, url] of table) {
    const headers = {
      "impersonate-user": "root",
      authorization: "Bearer x",
      connection: "close, x-drop",
      "x-drop": "1",
      "x-keep": "1",
    };
    const { code } = await s.call("GET", `/api/v1/namespaces/default/${path}`, undefined, headers);
    assert.equal(code, 200);
    const last = asked.at(-1)!;
    assert.deepEqual([last.to, last.request.url], [to, url]);
    const { headers: sent } = last.request;
    assert.deepEqual(
      ["authorization", "impersonate-user", "connection", "x-drop", "x-keep", "x-forwarded-for"].map(
        (name) => sent[name],
      ),
      [undefined, undefined, undefined, undefined, "1", "127.0.0.1"],
    );
  }
  await s.call("GET", "/api/v1/nodes/n1/proxy/pods");
  assert.deepEqual([asked.at(-1)?.to, asked.at(-1)?.request.url], ["n1=10.0.0.7:10250", "/pods"]);
  await s.call("GET", "/api/v1/nodes/http:n1:10249/proxy/healthz");
  assert.deepEqual([asked.at(-1)?.to, asked.at(-1)?.request.url], ["http://10.0.0.7:10249", "/healthz"]);
});

test("a redirect leads back through the proxy, other sites' headers stay behind", async () => {
  const prefix = `${pods}/web/proxy`;
  const table: readonly [string, string][] = [
    ["/login?x=1", `${prefix}/login?x=1`],
    ["http://10.244.0.5:8080/login", `${prefix}/login`],
    ["https://elsewhere.example/login", "https://elsewhere.example/login"],
    ["login", "login"],
    [`${prefix}/done`, `${prefix}/done`],
  ];
  for (const [location, expected] of table) {
    const headers = { location, "access-control-allow-origin": "*", "transfer-encoding": "chunked", "x-own": "1" };
    await using s = await cluster({ nodes: notes({ code: 302, headers }).nodes });
    const answer = await s.call("GET", `${prefix}/here`);
    assert.deepEqual(
      [answer.code, { ...answer.headers, traceparent: undefined, "audit-id": undefined }],
      [302, { location: expected, "x-own": "1", traceparent: undefined, "audit-id": undefined }],
    );
  }
});

test("what is missing behind a connection is named by the resource that was asked for, as upstream does", async () => {
  await using s = await cluster({ nodes: notes().nodes });
  const spec = { nodeName: "gone", containers: [{ name: "c", image: "x" }] };
  await s.call("POST", pods, { metadata: { name: "lost" }, spec });
  for (const [method, path, message] of [
    ["GET", "pods/lost/log", 'pods "gone" not found'],
    ["POST", "pods/lost/portforward?ports=80", 'pods "gone" not found'],
    ["GET", "services/none/proxy/", 'services "none" not found'],
  ] as const) {
    const { code, json } = await s.call(method, `/api/v1/namespaces/default/${path}`, undefined, spdy);
    assert.deepEqual([code, json.message], [404, message], path);
  }
});

test("what cannot be reached is named", async () => {
  const nodes: NodeConnection = {
    ...noConnection,
    kubelet: async () => {
      throw new Unreachable("dial tcp 10.0.0.7:10250: connect: connection refused");
    },
  };
  await using s = await cluster({ nodes });
  const exec = await s.call("POST", `${pods}/web/exec?stdout=1&command=x`, undefined, spdy);
  assert.deepEqual(
    [exec.code, exec.json.message],
    [500, "error dialing backend: dial tcp 10.0.0.7:10250: connect: connection refused"],
  );
  const proxy = await s.call("GET", `${pods}/web/proxy/`);
  assert.deepEqual(
    [proxy.code, proxy.json.message],
    [503, "error trying to reach service: this server has no way to 10.244.0.5"],
  );
});

test("only addresses of the cluster are proxied to", () => {
  for (const address of ["10.0.0.1", "8.8.8.8", "2001:db8::1", "::ffff:10.0.0.1"])
    assert.equal(isGlobalUnicast(address), true, address);
  for (const address of [
    "127.0.0.1",
    "0.0.0.0",
    "169.254.169.254",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "0:0:0:0:0:0:0:1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "fe80::1",
    "ff02::1",
    "",
    "localhost",
    "1.2.3",
    "0x7f.0.0.1",
    "300.1.1.1",
  ])
    assert.equal(isGlobalUnicast(address), false, address);
});
