// What an Ingress says becomes what a real HAProxy does; changes reach it while it is asked.
import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect } from "node:net";
import { test } from "node:test";
import { connect as connectTls } from "node:tls";
import type { Secret } from "#api/core/v1/secret.ts";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { Ingress } from "#api/networking/v1/ingress.ts";
import { IngressClass } from "#api/networking/v1/ingress-class.ts";
import { world } from "#client/testing.ts";
import { isKeyPair } from "#ingress/host/key-pair.ts";
import { routesOf } from "#ingress/routes.ts";
import type { Draft } from "#schema/infer.ts";
import { backendServer, findHaproxy, ProxyUnderTest, pemFor } from "./proxy.ts";

const { program = "", missing } =
  process.platform === "linux" ? await findHaproxy() : { missing: "HAProxy is for Linux" };
const { signal } = new AbortController();
const w = world();

interface Wanted {
  readonly ingresses: readonly Draft<Ingress>[];
  /** Addresses of the endpoints of each service. */
  readonly services: Readonly<Record<string, readonly string[]>>;
  readonly secrets?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Each service has one port 80, and its endpoints ports of their own. */
function stateOf({ ingresses, services, secrets = {} }: Wanted) {
  const own = w.have(IngressClass, {
    metadata: { name: "haproxy", annotations: { "ingressclass.kubernetes.io/is-default-class": "true" } },
    spec: { controller: "knarr.local/ingress" },
  });
  const base64 = (data: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")]));
  return routesOf({
    ingresses: ingresses.map((draft, i) =>
      w.have(Ingress, { ...draft, metadata: { name: `i${i}`, namespace: "default", ...draft.metadata } }),
    ),
    classes: [own],
    service: (key) =>
      key.slice(8) in services
        ? w.have(Service, {
            metadata: { name: key.slice(8), namespace: "default" },
            spec: { ports: [{ name: "http", port: 80 }] },
          })
        : undefined,
    slices: (key) =>
      (services[key.slice(8)] ?? []).map((address, i) => {
        const [ip = "", port] = address.split(":");
        return w.have(EndpointSlice, {
          metadata: { name: `${key.slice(8)}-${i}`, namespace: "default" },
          addressType: "IPv4",
          endpoints: [{ addresses: [ip], conditions: { ready: true } }],
          ports: [{ name: "http", port: Number(port) }],
        });
      }),
    secret: (key) => {
      const data = secrets[key];
      return data && ({ data: base64(data) } as Secret);
    },
    isKeyPair,
  });
}

type PathRow = readonly [string, "Exact" | "Prefix" | "ImplementationSpecific", string];

const ingress = (
  host: string,
  paths: readonly PathRow[],
  annotations: Record<string, string> = {},
): Draft<Ingress> => ({
  metadata: { name: host.replaceAll(/[^a-z0-9.-]/g, "x") || "any", namespace: "default", annotations },
  spec: {
    rules: [
      {
        ...(host && { host }),
        http: {
          paths: paths.map(([path, pathType, name]) => ({
            path,
            pathType,
            backend: { service: { name, port: { number: 80 } } },
          })),
        },
      },
    ],
  },
});

interface Reply {
  readonly code: number;
  readonly text: string;
  readonly headers: IncomingMessage["headers"];
}

async function ask(port: number, host: string, path: string, headers: Record<string, string> = {}): Promise<Reply> {
  const request = httpRequest({ host: "127.0.0.1", port, path, headers: { host, ...headers }, agent: false });
  return replyTo(request.end());
}

async function replyTo(request: ReturnType<typeof httpRequest>): Promise<Reply> {
  const [response] = (await once(request, "response")) as [IncomingMessage];
  let text = "";
  for await (const part of response.setEncoding("utf8")) text += part;
  return { code: response.statusCode ?? 0, text, headers: response.headers };
}

const nameIn = ({ code, text }: Reply): string =>
  code === 200 ? (JSON.parse(text) as { name: string }).name : String(code);

test("a real HAProxy does what Ingresses say", { skip: missing, timeout: 300_000 }, async (t) => {
  await using proxy = await ProxyUnderTest.make(program);
  await using a = await backendServer("a");
  await using b = await backendServer("b");
  await using c = await backendServer("c");
  const services = { a: [a.address], b: [b.address], c: [c.address] };
  const { haproxy, httpPort } = proxy;
  const become = (wanted: Wanted) => haproxy.become(stateOf(wanted).state, signal);
  const name = async (host: string, path: string) => nameIn(await ask(httpPort, host, path));

  await t.test("hosts and paths choose the backend, as the API says", async () => {
    await become({
      services,
      ingresses: [
        ingress("one.test", [
          ["/", "Prefix", "a"],
          ["/foo", "Prefix", "b"],
          ["/foo", "Exact", "c"],
          ["/raw", "ImplementationSpecific", "c"],
        ]),
        ingress("*.wild.test", [["/", "Prefix", "b"]]),
        ingress("narrow.test", [["/only", "Prefix", "a"]]),
        ingress("", [["/any", "Exact", "c"]]),
      ],
    });
    const table: readonly (readonly [string, string, string])[] = [
      ["one.test", "/", "a"],
      ["ONE.test:8080", "/x?y=/foo", "a"],
      ["one.test", "/foo", "c"],
      ["one.test", "/foo/", "b"],
      ["one.test", "/foo/bar", "b"],
      ["one.test", "/foobar", "a"],
      ["one.test", "/rawhide", "c"],
      ["x.wild.test", "/", "b"],
      ["x.y.wild.test", "/", "404"],
      ["wild.test", "/", "404"],
      ["narrow.test", "/any", "404"],
      ["narrow.test", "/only/x", "a"],
      ["other.test", "/any", "c"],
      ["other.test", "/", "404"],
    ];
    for (const [host, path, expected] of table) assert.equal(await name(host, path), expected, `${host}${path}`);
    const { text } = await ask(httpPort, "one.test", "/", { "x-forwarded-for": "6.6.6.6" });
    assert.deepEqual(JSON.parse(text), { name: "a", path: "/", host: "one.test", from: "127.0.0.1", protocol: "http" });
  });

  await t.test("endpoints and routes change without a reload, and no request fails", async () => {
    const base = [ingress("one.test", [["/", "Prefix", "a"]]), ingress("two.test", [["/", "Prefix", "b"]])];
    await become({ services, ingresses: base });
    const reloads = haproxy.reloads;
    const stop = new AbortController();
    const failed: string[] = [];
    let asked = 0;
    const load = Array.from({ length: 4 }, async () => {
      while (!stop.signal.aborted) {
        const reply = await ask(httpPort, "one.test", "/").catch((error: unknown) => ({
          code: 0,
          text: String(error),
          headers: {},
        }));
        asked++;
        if (reply.code !== 200) failed.push(`${reply.code} ${reply.text}`);
      }
    });
    const sets = [[a.address], [a.address, b.address], [b.address, c.address], [c.address]];
    for (let round = 0; round < 40; round++) {
      await become({
        services: { ...services, a: sets[round % sets.length] ?? [] },
        ingresses: round % 2 === 0 ? base : [...base, ingress("three.test", [["/new", "Exact", "b"]])],
      });
      if (round % 2 === 1) assert.equal(await name("three.test", "/new"), "b");
      await haproxy.sweep(signal);
    }
    assert.equal(await name("one.test", "/"), "c");
    assert.equal(await name("three.test", "/new"), "b");
    stop.abort();
    await Promise.all(load);
    assert.ok(asked > 40, `${asked} requests`);
    assert.deepEqual(failed, []);
    assert.equal(haproxy.reloads, reloads);
  });

  await t.test("certificates are chosen by name, and change without a reload", async () => {
    const [first, second] = [pemFor("s.test"), pemFor("s.test")];
    const secretOf = (pem: string) => ({
      "tls.key": pem.slice(0, pem.indexOf("-----BEGIN CERTIFICATE")),
      "tls.crt": pem.slice(pem.indexOf("-----BEGIN CERTIFICATE")),
    });
    const tls = (hosts: string[], secretName: string) => ({
      ...ingress(hosts[0] ?? "", [["/", "Prefix", "a"]]),
      spec: { ...ingress(hosts[0] ?? "", [["/", "Prefix", "a"]]).spec, tls: [{ hosts, secretName }] },
    });
    const shown = async (servername: string) => {
      const socket = connectTls({
        host: "127.0.0.1",
        port: proxy.httpsPort,
        servername,
        rejectUnauthorized: false,
        ALPNProtocols: ["h2"],
      });
      await once(socket, "secureConnect");
      const { subject, serialNumber } = socket.getPeerCertificate();
      const result = { name: subject.CN, serialNumber, protocol: socket.alpnProtocol };
      socket.destroy();
      return result;
    };
    await become({ services, ingresses: [tls(["s.test"], "one")], secrets: { "default/one": secretOf(first) } });
    const { reloads } = haproxy;
    const before = await shown("s.test");
    assert.equal(before.name, "s.test");
    assert.equal(before.protocol, "h2");
    assert.equal((await shown("unknown.test")).name, "default.test");
    const redirect = await ask(httpPort, "s.test", "/x");
    assert.deepEqual([redirect.code, redirect.headers.location], [308, "https://s.test/x"]);
    const secure = httpsRequest({
      host: "127.0.0.1",
      port: proxy.httpsPort,
      path: "/",
      servername: "s.test",
      headers: { host: "s.test" },
      rejectUnauthorized: false,
      agent: false,
    });
    assert.equal((JSON.parse((await replyTo(secure.end())).text) as { protocol: string }).protocol, "https");
    await become({ services, ingresses: [tls(["s.test"], "one")], secrets: { "default/one": secretOf(second) } });
    assert.notEqual((await shown("s.test")).serialNumber, before.serialNumber);
    await become({
      services,
      ingresses: [tls(["s.test"], "one"), tls(["t.test"], "two")],
      secrets: { "default/one": secretOf(second), "default/two": secretOf(pemFor("t.test")) },
    });
    assert.equal((await shown("t.test")).name, "t.test");
    await become({ services, ingresses: [tls(["s.test"], "one")], secrets: { "default/one": secretOf(second) } });
    assert.equal((await shown("t.test")).name, "default.test");
    assert.equal(haproxy.reloads, reloads);
  });

  await t.test("a WebSocket outlives a reload and the end of its endpoint", async () => {
    await become({ services, ingresses: [ingress("ws.test", [["/", "Prefix", "a"]])] });
    const socket = connect(httpPort, "127.0.0.1");
    socket.write(
      "GET / HTTP/1.1\r\nHost: ws.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n",
    );
    const [head] = (await once(socket, "data")) as [Buffer];
    assert.match(head.toString(), /^HTTP\/1.1 101 /);
    const { reloads } = haproxy;
    await become({
      services: { ...services, a: [b.address] },
      ingresses: [ingress("ws.test", [["/", "Prefix", "a"]])],
    });
    await become({ services, ingresses: [ingress("ws.test", [["/", "Prefix", "c"]])] });
    assert.equal(haproxy.reloads, reloads + 1);
    socket.write("still here");
    const [echo] = (await once(socket, "data")) as [Buffer];
    assert.equal(echo.toString(), "still here");
    socket.destroy();
  });

  await t.test("the annotations of ingress-nginx do what they say", async () => {
    const annotated = (host: string, path: string, values: Record<string, string>) =>
      ingress(
        host,
        [[path, "ImplementationSpecific", "a"]],
        Object.fromEntries(Object.entries(values).map(([key, value]) => [`nginx.ingress.kubernetes.io/${key}`, value])),
      );
    await become({
      services: { ...services, a: [a.address, b.address, c.address] },
      secrets: {
        "default/users": {
          auth: "joe:$6$saltsalt$qFmFH.bQmmtXzyBY0s9v7Oicd2z4XSIecDzlB5KiA2/jctKu9YterLp8wwnSq.qc.eoxqOmSuNp2xS0ktL3nh/\n",
        },
      },
      ingresses: [
        annotated("rewrite.test", "/api(/|$)(.*)", { "rewrite-target": "/$2", "use-regex": "true" }),
        annotated("whole.test", "/", { "rewrite-target": "/x" }),
        annotated("gone.test", "/", { "permanent-redirect": "https://new.test/a%20b" }),
        annotated("root.test", "/", { "app-root": "/app" }),
        annotated("sticky.test", "/", { affinity: "cookie", "session-cookie-name": "stick" }),
        annotated("closed.test", "/", { "whitelist-source-range": "10.9.9.0/24" }),
        annotated("open.test", "/", { "whitelist-source-range": "10.9.9.0/24, 127.0.0.1" }),
        annotated("wrong.test", "/", { "whitelist-source-range": "ten" }),
        annotated("auth.test", "/", { "auth-type": "basic", "auth-secret": "users" }),
        annotated("nobody.test", "/", { "auth-type": "basic", "auth-secret": "nothing" }),
        annotated("small.test", "/", { "proxy-body-size": "1k" }),
        annotated("limited.test", "/", { "limit-rps": "1" }),
        annotated("inject.test", "/", { "upstream-vhost": "x'\n  http-request deny" }),
      ],
    });
    const path = async (host: string, asked: string) =>
      (JSON.parse((await ask(httpPort, host, asked)).text) as { path: string }).path;
    assert.equal(await path("rewrite.test", "/api/v1/x"), "/v1/x");
    assert.equal(await path("rewrite.test", "/api"), "/");
    assert.equal(await path("whole.test", "/some?q=1"), "/x?q=1");
    const gone = await ask(httpPort, "gone.test", "/");
    assert.deepEqual([gone.code, gone.headers.location], [301, "https://new.test/a%20b"]);
    assert.equal((await ask(httpPort, "root.test", "/")).headers.location, "/app");
    const first = await ask(httpPort, "sticky.test", "/");
    const [cookie = ""] = first.headers["set-cookie"] ?? [];
    assert.match(cookie, /^stick=\w+;/);
    for (let i = 0; i < 6; i++)
      assert.equal(
        nameIn(await ask(httpPort, "sticky.test", "/", { cookie: cookie.split(";")[0] ?? "" })),
        nameIn(first),
      );
    assert.equal(await name("closed.test", "/"), "403");
    assert.match(await name("open.test", "/"), /^[abc]$/);
    assert.equal(await name("wrong.test", "/"), "403");
    assert.equal(await name("auth.test", "/"), "401");
    const authorization = `Basic ${Buffer.from("joe:secret").toString("base64")}`;
    assert.equal((await ask(httpPort, "nobody.test", "/", { authorization })).code, 401);
    assert.equal((await ask(httpPort, "small.test", "/", { "content-length": "2000" })).code, 413);
    const codes = await Promise.all(
      Array.from({ length: 20 }, async () => (await ask(httpPort, "limited.test", "/")).code),
    );
    assert.ok(codes.includes(503) && codes.includes(200), codes.join());
    assert.match(await name("inject.test", "/"), /^[abc]$/);
  });

  await t.test("requests that smuggle others, or that are too large, are refused", async () => {
    await become({ services, ingresses: [ingress("one.test", [["/", "Prefix", "a"]])] });
    const raw = async (text: string) => {
      const socket = connect(httpPort, "127.0.0.1");
      let answer = "";
      socket.setEncoding("utf8").on("data", (part: string) => {
        answer += part;
      });
      socket.on("error", () => undefined); // it may be reset
      socket.write(text);
      await once(socket, "end"); // it answers, and wants no more
      socket.destroy();
      return answer.split("\r\n")[0] ?? "";
    };
    const head = "POST / HTTP/1.1\r\nHost: one.test\r\n";
    assert.match(await raw(`${head}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`), /^HTTP\/1.1 400/);
    assert.match(
      await raw(`${head}Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n\r\nhello`),
      /^HTTP\/1.1 (400|422|501)/,
    );
    assert.match(
      await raw(`${head}${Array.from({ length: 200 }, (_, i) => `X-${i}: a\r\n`).join("")}\r\n`),
      /^HTTP\/1.1 400/,
    );
    assert.match(await raw(`${head}X-Large: ${"a".repeat(100_000)}\r\n\r\n`), /^HTTP\/1.1 400/);
    assert.equal(await name("one.test", "/"), "a");
  });
});
