import assert from "node:assert/strict";
import { test } from "node:test";
import {
  brotliCompressSync,
  deflateRawSync,
  deflateSync,
  gunzipSync,
  gzipSync,
  inflateRawSync,
  inflateSync,
} from "node:zlib";
import type { HttpResponse } from "#wire/http.ts";
import { noConnection } from "../node-connection.ts";
import { testServer } from "../testing.ts";

const prefix = "/api/v1/namespaces/default/pods/web/proxy";
const page = '<a href="/x">x</a>';
const changed = `<a href="${prefix}/x">x</a>`;

/** Gets a page through the proxy of a pod whose server answers so. */
async function proxied(answer: HttpResponse, method = "GET"): Promise<{ code: number; headers: object; body: Buffer }> {
  await using s = await testServer({ nodes: { ...noConnection, fetch: async () => answer } });
  const spec = { containers: [{ name: "c", image: "x" }] };
  const merge = { "content-type": "application/merge-patch+json" };
  await s.call("POST", "/api/v1/namespaces/default/pods", { metadata: { name: "web" }, spec });
  const status = { podIPs: [{ ip: "10.244.0.5" }] };
  await s.call("PATCH", "/api/v1/namespaces/default/pods/web/status", { status }, merge);
  const response = await s.server.handle({
    method,
    path: `${prefix}/page`,
    url: `${prefix}/page`,
    query: new URLSearchParams(),
    headers: { host: "localhost:8001" },
    body: async () => new Uint8Array(),
    content: (async function* () {
      // no body
    })(),
    clientCertificate: undefined,
    remoteAddress: "127.0.0.1",
    signal: new AbortController().signal,
  });
  const { code, body } = response;
  const { "audit-id": _, ...headers } = response.headers ?? {}; // our own, on every answer
  const parts: Uint8Array[] = [];
  for await (const part of typeof body === "string" ? [Buffer.from(body)] : body instanceof Uint8Array ? [body] : body)
    parts.push(part);
  return { code, headers, body: Buffer.concat(parts) };
}

const html = { "content-type": "text/html; charset=utf-8", "content-length": "18", "x-own": "1" };

test("the links of a page lead through the proxy, and its length is no longer told", async () => {
  const { headers, body } = await proxied({ code: 404, headers: html, body: page });
  assert.equal(body.toString(), changed);
  assert.deepEqual(headers, { "content-type": html["content-type"], "x-own": "1" });
});

test("a page that is compressed is changed and compressed again", async () => {
  const forms = [
    ["gzip", gzipSync, gunzipSync],
    ["deflate", deflateSync, inflateSync],
    ["deflate", deflateRawSync, inflateRawSync],
  ] as const;
  for (const [encoding, compress, read] of forms) {
    const compressed = compress(page);
    const inParts = (async function* () {
      for (let at = 0; at < compressed.length; at += 5) yield compressed.subarray(at, at + 5);
    })();
    const { body, headers } = await proxied({
      code: 200,
      headers: { ...html, "content-encoding": encoding },
      body: inParts,
    });
    assert.equal(read(body).toString(), changed, encoding);
    assert.equal((headers as Record<string, string>)["content-encoding"], encoding);
  }
});

test("a page that claims to be compressed and is not breaks off", async () => {
  const headers = { ...html, "content-encoding": "gzip" };
  await assert.rejects(proxied({ code: 200, headers, body: page }));
});

test("what is no page, or cannot be read, or has no body passes as it is", async () => {
  const brotli = brotliCompressSync(page);
  for (const [headers, body, method] of [
    [{ ...html, "content-type": "application/json" }, page, "GET"],
    [{ ...html, "content-type": "text/htmlx" }, page, "GET"],
    [{ ...html, "content-encoding": "br" }, brotli, "GET"],
    [html, "", "HEAD"],
  ] as const) {
    const passed = await proxied({ code: 200, headers, body }, method);
    assert.deepEqual(passed.body, Buffer.from(body));
    assert.deepEqual(passed.headers, headers);
  }
});

test("a redirect leads through the proxy, by the host that the client knows, and its page is left alone", async () => {
  for (const [location, expected] of [
    ["/login?next=/x", `${prefix}/login?next=/x`],
    ["http://10.244.0.5/login", `${prefix}/login`],
    ["http://localhost:8001/login/", `http://localhost:8001${prefix}/login/`],
    [`${prefix}/done`, `${prefix}/done`],
    ["https://elsewhere.example/login", "https://elsewhere.example/login"],
    ["login", "login"],
  ] as const) {
    const { headers, body } = await proxied({ code: 302, headers: { ...html, location }, body: page });
    assert.deepEqual([headers, body.toString()], [{ ...html, location: expected }, page]);
  }
});
