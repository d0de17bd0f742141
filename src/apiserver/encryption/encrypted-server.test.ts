// An API server over an encrypted store: what clients see, and what they do not.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { createLog } from "#base/log.ts";
import { MetricRegistry } from "#base/metrics.ts";
import { seededRandom, systemRandom } from "#base/random.ts";
import type { StoreEngine } from "#store/engine.ts";
import { MemoryStore } from "#store/memory.ts";
import { EncryptionFile } from "../host/encryption-file.ts";
import { type TestServer, testServer } from "../testing.ts";

const text = (value: Uint8Array | undefined) => new TextDecoder().decode(value);
const secretsPath = "/api/v1/namespaces/default/secrets";
const keyOf = (name: string) => `/registry/secrets/default/${name}`;
const secret = (name: string, value = "aHVudGVyMg==") => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name },
  data: { password: value },
});

const keyText = (name: string, seed: number) =>
  `{name: ${name}, secret: ${Buffer.from(Uint8Array.from({ length: 32 }, (_, i) => i * seed)).toString("base64")}}`;
const gcm = (...keys: readonly string[]) => `{aesgcm: {keys: [${keys.join(", ")}]}}`;
const box = (...keys: readonly string[]) => `{secretbox: {keys: [${keys.join(", ")}]}}`;
const cbc = (...keys: readonly string[]) => `{aescbc: {keys: [${keys.join(", ")}]}}`;
const file = (resources: string, ...providers: readonly string[]) => `
kind: EncryptionConfiguration
apiVersion: apiserver.config.k8s.io/v1
resources: [{resources: [${resources}], providers: [${providers.join(", ")}]}]
`;

class EncryptedWorld implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "knarr-encryption-"));
  readonly path = join(this.folder, "encryption.yaml");
  readonly clock = new ManualClock("2026-01-01T00:00:00Z");
  readonly raw: StoreEngine = new MemoryStore({ clock: this.clock });
  metrics = new MetricRegistry();
  readonly lines: string[] = [];
  readonly #files: EncryptionFile[] = [];

  configure(text: string): void {
    writeFileSync(this.path, text);
  }

  /** The configuration is read anew each time that this clock has gone on by a minute. */
  async serve(configuration?: string): Promise<TestServer> {
    if (configuration !== undefined) this.configure(configuration);
    this.metrics = new MetricRegistry();
    const { clock, path, metrics } = this;
    const log = createLog({ clock, level: "info", write: (line) => this.lines.push(line) });
    const encryption = await EncryptionFile.open({
      path,
      clock,
      random: systemRandom,
      log,
      metrics,
      reloads: true,
    });
    this.#files.push(encryption);
    const open = { ...encryption.around(this.raw), close: async () => undefined };
    return testServer({ store: open, log, healthChecks: encryption.healthChecks });
  }

  async kept(key: string): Promise<string> {
    return text((await this.raw.get(key))?.value);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const opened of this.#files) opened.close();
    await this.raw.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

for (const [name, provider, prefix] of [
  ["aesgcm", gcm(keyText("key1", 1)), "k8s:enc:aesgcm:v1:key1:"],
  ["aescbc", cbc(keyText("key1", 1)), "k8s:enc:aescbc:v1:key1:"],
  ["secretbox", box(keyText("key1", 1)), "k8s:enc:secretbox:v1:key1:"],
  ["identity", "{identity: {}}", "{"],
] as const)
  test(`with ${name} secrets are written, read, listed, watched, patched and deleted, and stored as ${prefix}`, async () => {
    await using world = new EncryptedWorld();
    await using server = await world.serve(file("secrets", provider));
    const watch = await server.watch(`${secretsPath}?watch=true&resourceVersion=1`);
    assert.equal((await server.call("POST", secretsPath, secret("a"))).code, 201);
    assert.equal(
      (
        await server.call("POST", "/api/v1/namespaces/default/configmaps", {
          metadata: { name: "c" },
          data: { a: "plain" },
        })
      ).code,
      201,
    );
    const kept = await world.kept(keyOf("a"));
    assert.ok(kept.startsWith(prefix));
    assert.equal(kept.includes("aHVudGVyMg=="), name === "identity");
    assert.match(await world.kept("/registry/configmaps/default/c"), /plain/, "others are as they are");

    assert.equal((await server.call("GET", `${secretsPath}/a`)).json.metadata.name, "a");
    const patch = { data: { password: "aHVudGVyMw==" } };
    const headers = { "content-type": "application/merge-patch+json" };
    assert.equal((await server.call("PATCH", `${secretsPath}/a`, patch, headers)).code, 200);
    const list = await server.call("GET", secretsPath);
    assert.match(list.text, /aHVudGVyMw==/);
    const past = await server.call("GET", `${secretsPath}?resourceVersion=2&resourceVersionMatch=Exact`);
    assert.match(past.text, /aHVudGVyMg==/, "the past is decrypted, too");
    assert.equal((await server.call("DELETE", `${secretsPath}/a`)).code, 200);
    const events: string[] = [];
    for (let i = 0; i < 3; i++) {
      const { value } = await watch.next();
      events.push(`${value.type} ${value.object.data.password}`);
    }
    assert.deepEqual(events, ["ADDED aHVudGVyMg==", "MODIFIED aHVudGVyMw==", "DELETED aHVudGVyMw=="]);
  });

test("wildcards encrypt what they say, custom groups included, and the first rule that fits counts", async () => {
  await using world = new EncryptedWorld();
  await using server = await world.serve(`
kind: EncryptionConfiguration
apiVersion: apiserver.config.k8s.io/v1
resources:
- {resources: [configmaps], providers: [{identity: {}}]}
- {resources: ['*.apps'], providers: [${gcm(keyText("apps", 2))}]}
- {resources: ['*.*'], providers: [${gcm(keyText("all", 3))}]}
`);
  const made = [
    ["/api/v1/namespaces/default/configmaps", { metadata: { name: "c" } }],
    ["/apis/apps/v1/namespaces/default/controllerrevisions", { metadata: { name: "r" }, revision: 1, data: {} }],
    ["/apis/coordination.k8s.io/v1/namespaces/default/leases", { metadata: { name: "l" } }],
    [secretsPath, secret("s")],
  ] as const;
  for (const [path, object] of made) assert.equal((await server.call("POST", path, object)).code, 201, path);
  const { entries } = await world.raw.list("/registry/");
  const heads = entries
    .filter(({ key }) => /\/default\/[crls]$/.test(key))
    .map(({ key, value }) => [key, /^(k8s:enc:\w+:v1:\w+:|\{)/.exec(text(value))?.[1]]);
  assert.deepEqual(heads, [
    ["/registry/apps/controllerrevisions/default/r", "k8s:enc:aesgcm:v1:apps:"],
    ["/registry/configmaps/default/c", "{"],
    ["/registry/coordination.k8s.io/leases/default/l", "k8s:enc:aesgcm:v1:all:"],
    ["/registry/secrets/default/s", "k8s:enc:aesgcm:v1:all:"],
  ]);
});

test("an update that changes nothing writes what an older key wrote with the new one, once, and a dry run does not", async () => {
  await using world = new EncryptedWorld();
  {
    await using server = await world.serve(file("secrets", "{identity: {}}"));
    await server.call("POST", secretsPath, secret("a"));
  }
  await using server = await world.serve(file("secrets", gcm(keyText("key1", 1)), "{identity: {}}"));
  const before = await server.call("GET", `${secretsPath}/a`);
  assert.ok((await world.kept(keyOf("a"))).startsWith("{"));
  assert.equal((await server.call("PUT", `${secretsPath}/a?dryRun=All`, before.json)).code, 200);
  assert.ok((await world.kept(keyOf("a"))).startsWith("{"));

  const written = await server.call("PUT", `${secretsPath}/a`, before.json);
  assert.ok((await world.kept(keyOf("a"))).startsWith("k8s:enc:aesgcm:v1:key1:"));
  assert.notEqual(written.json.metadata.resourceVersion, before.json.metadata.resourceVersion);
  const again = await server.call("PUT", `${secretsPath}/a`, written.json);
  assert.equal(again.json.metadata.resourceVersion, written.json.metadata.resourceVersion, "what is not stale stays");
});

test("what cannot be decrypted is an error that names resource and key, everything else is served, and its key heals it", async () => {
  await using world = new EncryptedWorld();
  {
    await using server = await world.serve(file("secrets", gcm(keyText("lost", 1))));
    await server.call("POST", secretsPath, secret("bad"));
  }
  await using server = await world.serve(
    file("secrets", gcm(keyText("key2", 2), keyText("key1", 1)).replace("key1", "other")),
  );
  assert.equal((await server.call("POST", secretsPath, secret("good"))).code, 201);
  const why =
    'unable to transform key "/registry/secrets/default/bad": secrets: no matching key was found for the provided AES transformer: the value names aesgcm key "lost"';
  for (const path of [`${secretsPath}/bad`, secretsPath, "/api/v1/secrets", `${secretsPath}?watch=true`]) {
    const { code, json } = await server.call("GET", path);
    assert.deepEqual([code, json.message, json.reason], [500, why, undefined], path);
  }
  assert.equal((await server.call("GET", `${secretsPath}/good`)).code, 200);
  assert.equal((await server.call("GET", "/api/v1/namespaces/other/secrets")).code, 200, "not in that namespace");
  assert.equal((await server.call("GET", "/api/v1/configmaps")).code, 200);
  assert.equal((await server.call("POST", secretsPath, secret("bad"))).code, 409);
  assert.equal((await server.call("PUT", `${secretsPath}/bad`, secret("bad"))).code, 500);
  assert.equal((await server.call("DELETE", `${secretsPath}/bad`)).code, 500);
  assert.ok(world.lines.some((line) => line.includes("a stored object cannot be read") && line.includes('\\"lost\\"')));
  assert.ok(!world.lines.join("").includes("aHVudGVyMg"));

  world.configure(file("secrets", gcm(keyText("key2", 2), keyText("lost", 1))));
  await world.clock.advance(60_000);
  await server.clock.advance(10_000);
  assert.equal((await server.call("GET", `${secretsPath}/bad`)).code, 200, "once its key is back");
  assert.equal((await server.call("GET", secretsPath)).json.items?.length, 2);
});

test("a value that becomes unreadable ends watches with an error, and is told again once it can be read", async () => {
  await using world = new EncryptedWorld();
  await using server = await world.serve(file("secrets", gcm(keyText("key1", 1))));
  const { json } = await server.call("POST", secretsPath, secret("a"));
  const watch = await server.watch(`${secretsPath}?watch=true&resourceVersion=${json.metadata.resourceVersion}`);
  const others = await server.watch("/api/v1/configmaps?watch=true");
  const stored = await world.raw.get(keyOf("a"));
  assert.ok(stored);
  const broken = await world.raw.put(
    keyOf("a"),
    new TextEncoder().encode("k8s:enc:aesgcm:v1:key1:junk"),
    stored.modified,
  );
  const { value: event } = await watch.next();
  assert.equal(event.type, "ERROR");
  assert.match(event.object.message, /unable to transform key/);
  assert.equal((await server.call("GET", `${secretsPath}/a`)).code, 500);
  await server.call("POST", "/api/v1/namespaces/default/configmaps", { metadata: { name: "c" } });
  assert.equal((await others.next()).value.object.metadata.name, "c");

  await world.raw.put(keyOf("a"), stored.value, broken.modified);
  const { value: restored } = await (
    await server.watch(`${secretsPath}?watch=true&resourceVersion=${broken.modified}`)
  ).next();
  assert.equal(restored.object.metadata.name, "a");
  assert.equal((await server.call("GET", secretsPath)).json.items?.length, 1);
});

test("a changed file counts within a minute, and one that is wrong does not", async () => {
  await using world = new EncryptedWorld();
  await using server = await world.serve(file("secrets", gcm(keyText("key1", 1))));
  await server.call("POST", secretsPath, secret("a"));
  world.configure(file("secrets", gcm(keyText("key2", 2), keyText("key1", 1))));
  await world.clock.advance(60_000);
  await server.call("POST", secretsPath, secret("b"));
  assert.match(await world.kept(keyOf("b")), /^k8s:enc:aesgcm:v1:key2:/);
  assert.equal((await server.call("GET", secretsPath)).json.items?.length, 2, "old keys are read");

  for (const wrong of [
    "",
    "{",
    file("secrets", gcm("{name: key3, secret: YQ==}")),
    file("secrets", "{kms: {name: a}}"),
  ]) {
    world.configure(wrong);
    await world.clock.advance(60_000);
    await server.call("POST", secretsPath, { ...secret("x"), metadata: { generateName: "x-" } });
  }
  const errors = world.lines.filter((line) => line.includes("what it said before goes on to count"));
  assert.equal(errors.length, 4);
  for (const { key, value } of (await world.raw.list("/registry/secrets/default/x-")).entries)
    assert.match(text(value), /^k8s:enc:aesgcm:v1:key2:/, key);
  assert.match(await world.metrics.text(), /automatic_reloads_total\{status="failure"\} 4/);
});

test("values that are any bytes at all are errors of their own, and the server goes on", async () => {
  await using world = new EncryptedWorld();
  const random = seededRandom(7);
  const heads = [
    "",
    "{",
    "k8s:enc:",
    "k8s:enc:aesgcm:v1:key1:",
    "k8s:enc:aescbc:v1:key1:",
    "k8s:enc:secretbox:v1:key1:",
    "k8s\0",
  ];
  const junk = (i: number) =>
    Buffer.concat([
      Buffer.from(heads[i % heads.length] ?? ""),
      random.bytes(random.below(100)),
      Buffer.from(i % 3 ? "" : "}"),
    ]);
  for (let i = 0; i < 100; i++) await world.raw.put(keyOf(`before-${i}`), junk(i), 0);
  await using server = await world.serve(
    file("secrets", gcm(keyText("key1", 1)), cbc(keyText("key1", 1)), box(keyText("key1", 1)), "{identity: {}}"),
  );
  for (let i = 0; i < 100; i++) await world.raw.put(keyOf(`after-${i}`), junk(i), 0);
  assert.equal((await server.call("GET", secretsPath)).code, 500);
  assert.equal((await server.call("GET", `${secretsPath}/after-2`)).code, 500);
  assert.equal((await server.call("POST", secretsPath, secret("good"))).code, 201);
  assert.equal((await server.call("GET", `${secretsPath}/good`)).code, 200);
  assert.equal((await server.call("GET", "/api/v1/configmaps")).code, 200);
  assert.equal((await server.call("GET", "/healthz/kms-providers")).text, "ok");
});
