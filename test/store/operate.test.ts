// Snapshots, checks, shrinking and moving, as a person does them.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { ManualClock, systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { systemRandom } from "#base/random.ts";
import { standStill } from "#base/testing/stand-still.ts";
import { main } from "#cluster/main.ts";
import { copyStore } from "#store/copy.ts";
import { Damaged, type StoreEngine } from "#store/engine.ts";
import { EtcdStore } from "#store/host/etcd.ts";
import { openLmdbStore } from "#store/host/lmdb.ts";
import { checkStore, figuresOf, restoreStore, shrinkStore, snapshotStore } from "#store/host/lmdb-operate.ts";
import { MemoryStore } from "#store/memory.ts";
import { noEtcd, startEtcd } from "#store/testing/etcd.ts";
import { contentOf } from "./content.ts";
import { writeOf } from "./crash-values.ts";

const clock = systemClock;
const never = new AbortController().signal;

function scratch(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "knarr-operate-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function knarr(t: TestContext, args: readonly string[]) {
  const lines = { log: [] as string[], error: [] as string[] };
  const mocks = (["log", "error"] as const).map((name) =>
    t.mock.method(console, name, (text: string) => lines[name].push(text)),
  );
  const status = await main(["store", ...args]);
  for (const mock of mocks) mock.mock.restore();
  return { status, stdout: lines.log.map((line) => `${line}\n`).join(""), stderr: lines.error.join("\n") };
}

/** Some keys, overwritten and deleted. */
async function fill(engine: StoreEngine, count: number, bytes = 2_000): Promise<void> {
  for (let i = 0; i < count; i++) {
    const { modified } = await engine.put(`/k/${i}`, new Uint8Array(bytes).fill(i), 0);
    if (i % 3 === 0) await engine.put(`/k/${i}`, new Uint8Array(bytes).fill(i + 1), modified);
    if (i % 3 === 1) await engine.delete(`/k/${i}`, modified);
  }
}

test("a store in use can be looked at and copied, and loses nothing by it", async (t) => {
  const root = scratch(t);
  const folder = join(root, "store");
  const notes = join(root, "notes");
  const writer = fileURLToPath(new URL("crash-writer.ts", import.meta.url));
  const child = spawn(process.execPath, [writer, folder, notes, "1"], { stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  const exited = once(child, "exit");
  await once(child.stdout, "data");
  child.stdin.write("go\n");
  while (!existsSync(notes) || statSync(notes).size < 20_000) {
    assert.equal(child.exitCode, null, "the writer has ended");
    await clock.sleep(20, t.signal);
  }

  // Once in about a hundred times an LMDB that is opened beside the writer's takes back a commit of his.
  let seen = 0;
  for (let i = 0; i < 300; i++) {
    const { revision } = await figuresOf(folder);
    assert.ok(revision >= seen);
    seen = revision;
  }
  const acknowledged = Math.max(...revisionsOf(notes));
  const report = await snapshotStore(folder, join(root, "snapshot"));
  assert.ok(report.keys > 0 && report.records >= report.keys);
  const live = await checkStore(folder);
  assert.ok(live.revision >= report.revision);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.includes("check")),
    [],
  );
  assert.equal(child.exitCode, null, "the writer goes on");
  child.kill("SIGKILL");
  await exited;

  await restoreStore(join(root, "snapshot"), join(root, "restored"));
  const restored = await openLmdbStore({ folder: join(root, "restored"), clock });
  t.after(() => restored.close());
  assert.equal(await restored.revision(), report.revision);
  assert.ok(report.revision >= acknowledged, "all that was acknowledged before the snapshot is in it");
  for (const { key, value } of (await restored.list("/")).entries) writeOf(key, value);

  const store = await openLmdbStore({ folder, clock, keepRevisions: Number.MAX_SAFE_INTEGER });
  t.after(() => store.close());
  const { revision: newest, compacted } = await store.status();
  const kept = new Set<number>();
  for await (const batch of store.watch("/", compacted, t.signal)) {
    for (const { entry } of batch.changes) kept.add(entry.modified);
    if (batch.revision >= newest) break;
  }
  assert.deepEqual(
    revisionsOf(notes).filter((revision) => revision > compacted && !kept.has(revision)),
    [],
    "all that was acknowledged is there",
  );
});

const revisionsOf = (notes: string) =>
  readFileSync(notes, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => Number(line.split(" ")[1]));

test("a holder that stands still is named, and not waited for without end", async (t) => {
  const root = scratch(t);
  const folder = join(root, "store");
  const writer = fileURLToPath(new URL("crash-writer.ts", import.meta.url));
  const child = spawn(process.execPath, [writer, folder, join(root, "notes"), "1"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  await once(child.stdout, "data");
  child.stdin.write("go\n");
  while (!existsSync(join(folder, "store.sock"))) await clock.sleep(20, t.signal);
  assert.ok(child.pid !== undefined);
  await standStill(child.pid);
  await assert.rejects(figuresOf(folder), new RegExp(`held by process ${child.pid};.*asked, but did not answer`));
});

test("a store in use whose path is too long for a socket can be copied too", async (t) => {
  const root = join(scratch(t), "long".repeat(30));
  const store = await openLmdbStore({ folder: join(root, "store"), clock });
  t.after(() => store.close());
  await fill(store, 3);
  const { revision, keys } = await figuresOf(join(root, "store"));
  assert.deepEqual({ revision, keys }, { revision: await store.revision(), keys: 2 });
  assert.equal((await snapshotStore(join(root, "store"), join(root, "snapshot"))).revision, revision);
  await store.close();
  assert.deepEqual(
    readdirSync(join(root, "store")).filter((name) => name.endsWith(".sock")),
    [],
  );
});

test("who holds a store says why it cannot be copied, and goes on", async (t) => {
  const root = scratch(t);
  const folder = join(root, "store");
  const store = await openLmdbStore({ folder, clock });
  t.after(() => store.close());
  await assert.rejects(snapshotStore(folder, join(folder, "store.json", "snapshot")), /Not a directory|ENOTDIR/);
  for (const question of ["", "{", "[]", "null", `{"ask":"snapshot"}`, "x".repeat(100_000)]) {
    const socket = createConnection(join(folder, "store.sock"));
    socket.on("error", () => undefined); // it may be closed before all is said
    socket.end(question);
    socket.resume();
    await new Promise((resolve) => socket.once("close", resolve));
  }
  assert.equal((await figuresOf(folder)).keys, 0);
});

test("a snapshot keeps everything, and neither it nor a restore overwrites anything", async (t) => {
  const root = scratch(t);
  const store = await openLmdbStore({ folder: join(root, "store"), clock });
  await fill(store, 60);
  await store.compact(20);
  const wanted = await contentOf(store);
  await store.snapshot(join(root, "online"));
  await store.close();

  await snapshotStore(join(root, "store"), join(root, "offline"));
  await assert.rejects(
    snapshotStore(join(root, "store"), join(root, "offline")),
    /offline exists; choose another name/,
  );
  for (const snapshot of ["online", "offline"]) {
    await restoreStore(join(root, snapshot), join(root, `${snapshot}-restored`));
    const restored = await openLmdbStore({ folder: join(root, `${snapshot}-restored`), clock });
    assert.equal(await contentOf(restored), wanted);
    await restored.put("/after", new Uint8Array(), 0);
    await restored.close();
    await checkStore(join(root, `${snapshot}-restored`));
  }
  await assert.rejects(restoreStore(join(root, "offline"), join(root, "store")), /holds a store already/);
});

test("a check finds a flipped bit, and a damaged snapshot is not restored", async (t) => {
  const root = scratch(t);
  const store = await openLmdbStore({ folder: join(root, "store"), clock });
  await store.put("/secret", Buffer.from("needle".repeat(200)), 0);
  await store.close();
  await snapshotStore(join(root, "store"), join(root, "snapshot"));
  await checkStore(join(root, "snapshot"));
  for (const file of [join(root, "store", "store.lmdb"), join(root, "snapshot")]) {
    const at = readFileSync(file).indexOf("needleneedle");
    writeSync(openSync(file, "r+"), "N", at);
    await assert.rejects(checkStore(file), (error) => error instanceof Damaged && error.message.includes(file));
  }
  await assert.rejects(restoreStore(join(root, "snapshot"), join(root, "new")), Damaged);
  assert.ok(!existsSync(join(root, "new", "store.lmdb")));
});

test("shrinking gives back the room of what was deleted, and changes nothing else", async (t) => {
  const folder = join(scratch(t), "store");
  const store = await openLmdbStore({ folder, clock });
  await fill(store, 120, 20_000);
  for (const { key, modified } of (await store.list("/k/")).entries.slice(10)) await store.delete(key, modified);
  await store.compact(await store.revision());
  const wanted = await contentOf(store);
  await assert.rejects(shrinkStore(folder), /is held by process/);
  await store.close();
  const { before, after } = await shrinkStore(folder);
  assert.ok(after < before / 4, `${before} → ${after}`);
  const again = await openLmdbStore({ folder, clock });
  t.after(() => again.close());
  assert.equal(await contentOf(again), wanted);
});

test("a store moves between memory and file with its revisions and times to live", async (t) => {
  const root = scratch(t);
  const manual = new ManualClock("2026-01-01T00:00:00Z");
  const memory = new MemoryStore({ clock: manual });
  await fill(memory, 1_300, 100);
  await memory.put("/brief", new Uint8Array(1), 0, { ttlSeconds: 30 });
  const embedded = await openLmdbStore({ folder: join(root, "store"), clock: manual });
  const { entries } = await memory.list("");
  const revision = await memory.revision();
  assert.deepEqual(await copyStore(memory, embedded, never), {
    entries: entries.length,
    revision,
    keptRevisions: true,
  });

  const again = new MemoryStore({ clock: manual });
  await copyStore(embedded, again, never);
  for (const copy of [embedded, again]) {
    const page = await copy.list("");
    assert.equal(page.revision, revision);
    assert.deepEqual(
      page.entries.map(({ key, created, modified, value }) => [key, created, modified, [...value]]),
      entries.map(({ key, created, modified, value }) => [key, created, modified, [...value]]),
    );
    assert.equal(copy.ttlSeconds("/brief"), 30);
    assert.equal(copy.ttlSeconds("/k/0"), undefined);
    assert.equal((await copy.put("/next", new Uint8Array(), 0)).modified, revision + 1);
    await assert.rejects(copyStore(memory, copy, never), /the target is not empty: it has \/brief/);
  }
  await embedded.close();
  await checkStore(join(root, "store"));
  const reopened = await openLmdbStore({ folder: join(root, "store"), clock: manual });
  assert.equal(await reopened.revision(), revision + 1);
  assert.equal((await reopened.list("")).entries.length, entries.length + 1);
  await reopened.close();
});

test("a store moves to etcd and back, with its times to live", { skip: noEtcd }, async (t) => {
  const cluster = await startEtcd();
  t.after(() => cluster.stop());
  const etcd = new EtcdStore({ endpoints: cluster.endpoints, clock, random: systemRandom, log: silentLog });
  const [source, back] = [new MemoryStore({ clock }), new MemoryStore({ clock })];
  t.after(() => Promise.all([etcd.close(), source.close(), back.close()]));
  await fill(source, 700, 100);
  await source.put("/brief", new Uint8Array(1), 0, { ttlSeconds: 3_000 });
  const { entries } = await source.list("/");
  const there = await copyStore(source, etcd, never);
  assert.deepEqual([there.entries, there.keptRevisions], [entries.length, false]);
  await assert.rejects(copyStore(source, etcd, never), /the target is not empty/);

  const andBack = await copyStore(etcd, back, never);
  assert.deepEqual([andBack.entries, andBack.keptRevisions], [entries.length, true]);
  assert.deepEqual(
    (await back.list("/")).entries.map(({ key, value }) => [key, [...value]]),
    entries.map(({ key, value }) => [key, [...value]]),
  );
  assert.deepEqual(
    (await etcd.list("/")).entries.map(({ key, modified }) => [key, modified]),
    (await back.list("/")).entries.map(({ key, modified }) => [key, modified]),
  );
  const left = back.ttlSeconds("/brief") ?? 0;
  assert.ok(left > 2_000 && left <= 3_001, `${left} s`);
  assert.equal(back.ttlSeconds("/k/0"), undefined);
});

test("a copy that was interrupted leaves a store that cannot be taken for a whole one", async (t) => {
  const root = scratch(t);
  const source = new MemoryStore({ clock });
  t.after(() => source.close());
  await fill(source, 700, 10);
  const target = await openLmdbStore({ folder: join(root, "store"), clock });
  const broken = new Proxy(source, {
    get: (store, name) =>
      name === "ttlSeconds"
        ? (key: string) => (key === "/k/600" ? assert.fail("torn off") : undefined)
        : bound(store, name),
  });
  await assert.rejects(copyStore(broken, target, never), /torn off/);
  await target.close();
  await assert.rejects(openLmdbStore({ folder: join(root, "store"), clock }), /damaged/);
});

function bound(store: MemoryStore, name: string | symbol): unknown {
  const value: unknown = Reflect.get(store, name, store);
  return typeof value === "function" ? value.bind(store) : value;
}

test("knarr store does all this from the command line, with clear errors", async (t) => {
  const root = scratch(t);
  const at = (name: string) => join(root, name);
  const store = await openLmdbStore({ folder: at("store"), clock });
  await fill(store, 30);
  const revision = await store.revision();
  await store.close();

  const good = async (...args: string[]) => {
    const { status, stdout, stderr } = await knarr(t, args);
    assert.equal(status, 0, `${args.join(" ")}: ${stderr}`);
    return stdout;
  };
  assert.match(await good("status", at("store")), new RegExp(`revision +${revision}\noldest kept +1\nkeys +20\n`));
  assert.match(await good("snapshot", at("store"), at("snapshot")), new RegExp(`revision ${revision}, 20 keys`));
  assert.match(await good("check", at("snapshot")), /is sound/);
  assert.match(await good("restore", at("snapshot"), at("restored")), /20 keys/);
  assert.match(await good("compact", at("restored")), new RegExp(`history before revision ${revision} is forgotten`));
  assert.match(await good("shrink", at("restored")), /MiB before, .* MiB now/);
  assert.match(await good("copy", at("snapshot"), at("copied")), /20 keys as of revision .*, with their revisions/);
  assert.match(await good("check", at("copied")), /20 keys, 20 records/);
  assert.match(await good("--help"), /knarr store snapshot FOLDER FILE/);

  const bad: [string[], number, RegExp][] = [
    [[], 2, /say what to do: status, snapshot/],
    [["frob"], 2, /unknown verb "frob"/],
    [["status"], 2, /0 arguments where 1 are needed; usage: knarr store status STORE/],
    [["check", "--fast", at("store")], 2, /unknown flag --fast/],
    [["compact", at("store"), "--revision=soon"], 2, /--revision=soon: must be a positive whole number/],
    [["compact", at("store"), "--revision=99999"], 1, /has not been written/],
    [["status", at("nothing")], 1, /nothing does not exist/],
    [["compact", root], 1, /holds no store/],
    [["snapshot", at("store"), at("snapshot")], 1, /snapshot exists/],
    [["restore", at("snapshot"), at("store")], 1, /holds a store already/],
    [["copy", at("snapshot"), at("store")], 1, /the target is not empty/],
    [["copy", at("snapshot"), "etcd://"], 2, /names no member/],
  ];
  for (const [args, code, message] of bad) {
    const { status, stderr } = await knarr(t, args);
    assert.equal(status, code, `${args.join(" ")}: ${stderr}`);
    assert.match(stderr, message);
  }
});
