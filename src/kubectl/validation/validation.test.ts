import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { systemClock } from "#base/clock.ts";
import { seededRandom } from "#base/random.ts";
import { kubectl } from "../main.ts";

const reference = (name: string) => ({ $ref: `#/definitions/${name}` });
const definitions = {
  "example.ConfigMap": {
    type: "object",
    required: ["metadata"],
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: reference("example.Meta"),
      immutable: { type: "boolean" },
      data: { type: "object", additionalProperties: { type: "string" } },
    },
    "x-kubernetes-group-version-kind": [{ group: "", version: "v1", kind: "ConfigMap" }],
  },
  "example.Meta": {
    type: "object",
    properties: { name: { type: "string" }, finalizers: { type: "array", items: { type: "string" } } },
  },
};
const answers: Readonly<Record<string, unknown>> = {
  "/version": { major: "1", minor: "20+" },
  "/openapi/v2": { definitions },
  "/api": { kind: "APIVersions", versions: ["v1"] },
  "/apis": { kind: "APIGroupList", groups: [] },
  "/api/v1": {
    kind: "APIResourceList",
    groupVersion: "v1",
    resources: [{ name: "configmaps", singularName: "", namespaced: true, kind: "ConfigMap", verbs: ["create"] }],
  },
};
const folder = mkdtempSync(join(tmpdir(), "knarr-validation-"));
const asked: string[] = [];
let server: Server;

/** A server of before 1.25, which stores whatever it is sent. */
before(async () => {
  server = createServer((request, response) => {
    const path = (request.url ?? "").split("?")[0] ?? "";
    asked.push(`${request.method} ${path}`);
    const answer =
      request.method === "POST" ? { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "m" } } : answers[path];
    response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer ?? {}));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
after(async () => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

async function created(
  manifest: string,
  ...flags: readonly string[]
): Promise<{ readonly err: string; readonly code: number; readonly isSent: boolean }> {
  writeFileSync(join(folder, "m.yaml"), manifest);
  asked.length = 0;
  let err = "";
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const code = await kubectl(["-s", url, "create", "-f", "m.yaml", ...flags], {
    stdin: (async function* () {
      yield new Uint8Array();
    })(),
    stdout: { write: () => undefined },
    stderr: { write: (data) => (err += String(data)) },
    env: { HOME: folder },
    cwd: folder,
    clock: systemClock,
    random: seededRandom(1),
    signal: new AbortController().signal,
  });
  return { err, code, isSent: asked.some((one) => one.startsWith("POST")) };
}

const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n";
const hint = "; if you choose to ignore these errors, turn validation off with --validate=false\n";
const invalid = (what: string) => `error: error validating "m.yaml": error validating data: ${what}${hint}`;

test("a server that is too old to look at fields is sent only what its schema has", async () => {
  assert.deepEqual(await created(`${head}data: {a: b}\n`), { err: "", code: 0, isSent: true });
  assert.deepEqual(await created(`${head}dta: {a: b}\n`), {
    err: invalid('ValidationError(ConfigMap): unknown field "dta" in example.ConfigMap'),
    code: 1,
    isSent: false,
  });
});

test("types and required fields are checked as well, and all problems are told", async () => {
  const { err, isSent } = await created("apiVersion: v1\nkind: ConfigMap\nimmutable: maybe\ndata: {a: 1}\n");
  const problems = [
    'ValidationError(ConfigMap.immutable): invalid type for boolean: got "string", expected "boolean"',
    'ValidationError(ConfigMap.data.a): invalid type for string: got "integer", expected "string"',
    'ValidationError(ConfigMap): missing required field "metadata" in example.ConfigMap',
  ];
  assert.equal(err, invalid(`[${problems.join(", ")}]`));
  assert.equal(isSent, false);
});

test("without validation it is sent as it is, and with warn the person is told that nobody looked", async () => {
  assert.deepEqual(await created(`${head}dta: {}\n`, "--validate=ignore"), { err: "", code: 0, isSent: true });
  const { err, isSent } = await created(`${head}dta: {}\n`, "--validate=warn");
  assert.match(err, /^Warning: cannot perform warn validation if server-side field validation is unsupported/);
  assert.equal(isSent, true);
});

test("an object without a kind is refused before any server is asked", async () => {
  assert.equal((await created("metadata: {name: m}\n")).err, invalid("[apiVersion not set, kind not set]"));
  assert.deepEqual(asked, []);
});
