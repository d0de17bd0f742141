// What Gateways and routes say becomes what a real HAProxy does.
import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import { gatewayRoutesOf } from "#ingress/gateway/gateway-routes.ts";
import type { HttpRouteRule, RouteFilter } from "#ingress/gateway/kinds.ts";
import { type GatewaySituation, gatewayOf, objectsOf, routeOf, to } from "#ingress/gateway/testing.ts";
import { backendServer, findHaproxy, freePort, ProxyUnderTest, pemFor } from "./proxy.ts";

const { program = "", missing } =
  process.platform === "linux" ? await findHaproxy() : { missing: "HAProxy is for Linux" };
const { signal } = new AbortController();

async function ask(port: number, host: string, path: string, options: { method?: string; headers?: object } = {}) {
  const { method = "GET", headers = {} } = options;
  const request = httpRequest({ host: "127.0.0.1", port, path, method, headers: { host, ...headers }, agent: false });
  const [response] = (await once(request.end(), "response")) as [IncomingMessage];
  let text = "";
  for await (const part of response.setEncoding("utf8")) text += part;
  const isJson = text.startsWith("{");
  const body = (isJson ? JSON.parse(text) : {}) as { name?: string; path?: string; host?: string };
  return { code: response.statusCode ?? 0, headers: response.headers, ...body };
}

const rule = (path: string, backend: string, rest: HttpRouteRule = {}): HttpRouteRule => ({
  matches: [{ path: { type: "PathPrefix", value: path } }],
  backendRefs: [to(backend)],
  ...rest,
});

test("a real HAProxy does what Gateways say", { skip: missing, timeout: 120_000 }, async (t) => {
  await using proxy = await ProxyUnderTest.make(program);
  await using a = await backendServer("a");
  await using b = await backendServer("b");
  const [plain, secure] = [await freePort(), await freePort()];
  const endpoints = { a: [a.address], b: [b.address], empty: [] };
  const { haproxy } = proxy;
  const become = (situation: Partial<GatewaySituation>) =>
    haproxy.become(
      gatewayRoutesOf(
        objectsOf({
          gateways: [gatewayOf([{}])],
          endpoints,
          podPort: (_, port) => (port === 80 ? plain : secure),
          ...situation,
        }),
      ).state,
      signal,
    );
  const name = async (host: string, path: string, options = {}) => {
    const { code, name: said } = await ask(plain, host, path, options);
    return code === 200 ? said : String(code);
  };

  await t.test("hosts, paths, headers, methods and parameters choose the backend", async () => {
    const header = [{ name: "Version", value: "it's two" }];
    await become({
      gateways: [gatewayOf([{}, { hostname: "*.only.test" }])],
      http: [
        routeOf([rule("/", "a"), rule("/b", "b"), rule("/none", "empty")], { hostnames: ["maps.test"] }),
        routeOf(
          [
            rule("/", "a"),
            rule("/", "b", { matches: [{ headers: header }, { method: "DELETE" }, { queryParams: header }] }),
            rule("/", "b", { matches: [{ path: { type: "RegularExpression", value: "/v[0-9]+ ?x" } }] }),
          ],
          { hostnames: ["asks.test"] },
        ),
        routeOf([rule("/wild", "b")], { hostnames: ["*.test"], parentRefs: [{ name: "gw", sectionName: "l0" }] }),
        routeOf([rule("/", "nothing")], { hostnames: ["wrong.test"] }),
        routeOf([rule("/", "a")], { parentRefs: [{ name: "gw", sectionName: "l1" }] }),
      ],
    });
    const two = { headers: { version: "it's two" } };
    const table: readonly (readonly [string, string, object, string])[] = [
      ["maps.test", "/", {}, "a"],
      ["maps.test", "/b/c", {}, "b"],
      ["maps.test", "/bc", {}, "a"],
      ["maps.test", "/none", {}, "503"],
      ["asks.test", "/", {}, "a"],
      ["asks.test", "/", two, "b"],
      ["asks.test", "/", { method: "DELETE" }, "b"],
      ["asks.test", "/?Version=it%27s+two", {}, "b"],
      ["asks.test", "/v12x", {}, "b"],
      ["asks.test", "/v12xy", {}, "a"],
      ["x.y.test", "/wild", {}, "b"],
      ["x.only.test", "/", {}, "a"],
      ["x.only.test", "/wild", {}, "a"],
      ["wrong.test", "/", {}, "500"],
      ["elsewhere", "/", {}, "404"],
    ];
    for (const [host, path, options, expected] of table)
      assert.equal(await name(host, path, options), expected, `${host}${path} ${JSON.stringify(options)}`);
  });

  await t.test("filters change requests and answers", async () => {
    const filter = (rest: RouteFilter): HttpRouteRule => ({ filters: [rest] });
    const redirect = (path: string, requestRedirect: NonNullable<RouteFilter["requestRedirect"]>) => ({
      ...rule(path, "a", filter({ type: "RequestRedirect", requestRedirect })),
      backendRefs: [],
    });
    const prefix = { type: "ReplacePrefixMatch" as const, replacePrefixMatch: "/new" };
    await become({
      gateways: [gatewayOf([{ port: 8080 }])],
      podPort: () => plain,
      http: [
        routeOf([
          rule("/old", "a", filter({ type: "URLRewrite", urlRewrite: { hostname: "other.test", path: prefix } })),
          rule(
            "/cut",
            "a",
            filter({ type: "URLRewrite", urlRewrite: { path: { ...prefix, replacePrefixMatch: "/" } } }),
          ),
          rule("/answer", "a", {
            filters: [
              {
                type: "ResponseHeaderModifier",
                responseHeaderModifier: { set: [{ name: "X-Said", value: "it's 100% %[src]" }], remove: ["Date"] },
              },
            ],
          }),
          redirect("/host", { hostname: "to.test", statusCode: 301 }),
          redirect("/https", { scheme: "https" }),
          redirect("/path", { path: prefix, port: 80 }),
        ]),
      ],
    });
    const rewritten = await ask(plain, "h.test", "/old/x?q=1");
    assert.deepEqual([rewritten.path, rewritten.host], ["/new/x?q=1", "other.test"]);
    assert.equal((await ask(plain, "h.test", "/cut")).path, "/");
    assert.equal((await ask(plain, "h.test", "/cut/x")).path, "/x");
    const { headers } = await ask(plain, "h.test", "/answer");
    assert.deepEqual([headers["x-said"], headers.date], ["it's 100% %[src]", undefined]);
    const location = async (path: string) => {
      const reply = await ask(plain, "h.test", path);
      return `${reply.code} ${reply.headers.location}`;
    };
    assert.equal(await location("/host/x?q"), "301 http://to.test:8080/host/x?q");
    assert.equal(await location("/https"), "302 https://h.test/https");
    assert.equal(await location("/path/x"), "302 http://h.test/new/x");
  });

  await t.test("weights and endpoints change without a reload", async () => {
    const split = (weights: readonly [number, number], more: readonly string[] = []) =>
      become({
        endpoints: { a: [a.address, ...more], b: [b.address], nothing: [] },
        http: [
          routeOf([{ ...rule("/", "a"), backendRefs: [to("a", weights[0]), to("b", weights[1])] }], { name: "w" }),
        ],
      });
    /** Of 40 requests; the proxy takes a round to come to new weights. */
    const count = async () => {
      const names = [];
      for (let i = 0; i < 40; i++) await name("h.test", "/");
      for (let i = 0; i < 40; i++) names.push(await name("h.test", "/"));
      return names.filter((one) => one === "a").length;
    };
    /** Threads of the proxy take turns each on their own. */
    const near = (actual: number, expected: number) => assert.ok(Math.abs(actual - expected) <= 3, `${actual}`);
    await split([3, 1]);
    const { reloads } = haproxy;
    near(await count(), 30);
    await split([1, 3]);
    near(await count(), 10);
    await split([1, 0]);
    assert.equal(await count(), 40);
    await become({
      endpoints: { a: [], b: [b.address] },
      http: [routeOf([{ ...rule("/", "a"), backendRefs: [to("a"), to("b")] }], { name: "w" })],
    });
    const codes = [];
    await count();
    for (let i = 0; i < 10; i++) codes.push(await name("h.test", "/"));
    near(codes.filter((code) => code === "503").length, 5);
    assert.equal(haproxy.reloads, reloads);
  });

  await t.test("gRPC travels as HTTP/2, and TLS is passed on or terminated by name on one port", async () => {
    const server = createHttp2Server((request, response) => response.end(request.url));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const pem = pemFor("inner.test");
    const tls = createTlsServer({ key: pem, cert: pem }, (socket) => socket.end("inner"));
    await new Promise<void>((resolve) => tls.listen(0, "127.0.0.1", resolve));
    const at = (one: { address(): unknown }) => `127.0.0.1:${(one.address() as AddressInfo).port}`;
    const outer = Buffer.from(pemFor("outer.test")).toString("base64");
    await become({
      gateways: [
        gatewayOf([
          {},
          { port: 443, protocol: "TLS", hostname: "inner.test", tls: { mode: "Passthrough" } },
          {
            port: 443,
            protocol: "HTTPS",
            hostname: "outer.test",
            tls: { mode: "Terminate", certificateRefs: [{ name: "c" }] },
          },
        ]),
      ],
      endpoints: { ...endpoints, grpc: [at(server)], tls: [at(tls)] },
      secrets: { "default/c": { data: { "tls.crt": outer, "tls.key": outer } } as never },
      grpc: [
        routeOf([{ matches: [{ method: { service: "x.Y" } }], backendRefs: [to("grpc")] }], { hostnames: ["g.test"] }),
      ],
      http: [routeOf([rule("/", "a")], { hostnames: ["outer.test"] })],
      tls: [routeOf([{ backendRefs: [to("tls")] }], { hostnames: ["inner.test"] })],
    });
    const session = connectHttp2(`http://127.0.0.1:${plain}`);
    const stream = session.request({ ":path": "/x.Y/Do", ":method": "POST", ":authority": "g.test" });
    let text = "";
    for await (const part of stream.end().setEncoding("utf8")) text += part;
    session.destroy();
    const said = async (servername: string, request: string) => {
      const socket = connectTls({ host: "127.0.0.1", port: secure, servername, rejectUnauthorized: false });
      socket.write(request);
      let answer = "";
      for await (const part of socket.setEncoding("utf8")) answer += part;
      return answer;
    };
    const get = "GET / HTTP/1.1\r\nHost: outer.test\r\nConnection: close\r\n\r\n";
    const [inner, outerAnswer] = [await said("inner.test", ""), await said("outer.test", get)];
    const misdirected = await said("outer.test", get.replace("outer.test", "inner.test"));
    for (const one of [server, tls]) await new Promise((resolve) => one.close(resolve));
    assert.equal(text, "/x.Y/Do");
    assert.equal(inner, "inner");
    assert.match(outerAnswer, /"name":"a"/);
    assert.match(misdirected, /^HTTP\/1.1 421 /);
  });
});
