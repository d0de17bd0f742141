// What a store does when the disk does not do its part: it says so, loses nothing, and goes on when it can.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { open } from "lmdb";
import { ManualClock, systemClock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import { seededRandom } from "#base/random.ts";
import { Conflict, Damaged, OutOfSpace } from "#store/engine.ts";
import { openLmdbStore } from "#store/host/lmdb.ts";
import { fillDisk } from "../machine/fill-disk.ts";

const clock = systemClock;
const script = (name: string) => fileURLToPath(new URL(name, import.meta.url));

function scratch(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "knarr-faults-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const cannotMount =
  process.platform !== "linux" || process.getuid?.() !== 0
    ? "needs root on Linux, to mount a small file system"
    : spawnSync("mount", ["--version"]).status === 0
      ? false
      : "needs the mount command";

/** A small file system that is gone after the test, whatever happens. */
function smallDisk(t: TestContext, size: string): string {
  const folder = mkdtempSync(join(tmpdir(), "knarr-disk-"));
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", folder], { encoding: "utf8" });
  t.after(() => {
    if (mounted.status === 0) spawnSync("umount", ["--lazy", folder]);
    rmSync(folder, { recursive: true, force: true });
  });
  if (mounted.status !== 0) t.skip(`cannot mount: ${mounted.stderr}`);
  return folder;
}

test("on a full disk puts are refused, deletes and reads go on, and all resumes when there is room", {
  skip: cannotMount,
}, async (t) => {
  const disk = smallDisk(t, "48m");
  const folder = join(disk, "store");
  const store = await openLmdbStore({ folder, clock });
  const value = new Uint8Array(50_000).fill(7);
  const kept = new Map<string, number>();
  const fill = async (prefix: string) => {
    for (let i = 0; ; i++) {
      const results = await Promise.allSettled(
        Array.from({ length: 8 }, (_, j) => store.put(`/${prefix}/${i}/${j}`, value, 0)),
      );
      for (const result of results)
        if (result.status === "fulfilled") kept.set(result.value.key, result.value.modified);
      const failure = results.find((result) => result.status === "rejected");
      if (failure) return failure.reason;
    }
  };
  const refusal = await fill("a");
  assert.ok(refusal instanceof OutOfSpace, explain(refusal));
  assert.match(refusal.message, new RegExp(`${folder}.*disk is full`));
  assert.ok(kept.size > 100);
  const { alarm } = await store.status();
  assert.match(alarm ?? "", /disk is full/);
  await assert.rejects(store.put("/late", value, 0), OutOfSpace);

  const [first, ...others] = [...kept];
  assert.equal((await store.get(first![0]))?.value.length, 50_000);
  for (const [key, modified] of others.slice(0, 20)) {
    await store.delete(key, modified);
    kept.delete(key);
  }

  // A deletion with a grace, or with finalizers, begins with writes.
  const [slow] = others.slice(20);
  const marked = await store.put(slow![0], value, slow![1], { makesRoom: true });
  await store.delete(marked.key, marked.modified);
  kept.delete(marked.key);

  // The room that the deletes and a compaction make inside of the file is not seen from outside; more disk is.
  const enlarged = spawnSync("mount", ["-o", "remount,size=96m", disk], { encoding: "utf8" });
  assert.equal(enlarged.status, 0, enlarged.stderr);
  for (let tries = 0; (await store.status()).alarm !== undefined; tries++) {
    assert.ok(tries < 100, "the alarm does not end");
    await clock.sleep(100, t.signal);
    await store.put(`/again/${tries}`, value, 0).then(
      ({ key, modified }) => kept.set(key, modified),
      (error: unknown) => assert.ok(error instanceof OutOfSpace, explain(error)),
    );
  }
  const after = await store.put("/after", value, 0);
  kept.set(after.key, after.modified);
  await store.close();

  const again = await openLmdbStore({ folder, clock });
  t.after(() => again.close());
  const { entries } = await again.list("/");
  assert.deepEqual(
    entries.map(({ key, modified }) => [key, modified]),
    [...kept].toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
});

test("what is deleted goes also when somebody else has filled the disk", { skip: cannotMount }, async (t) => {
  const disk = smallDisk(t, "48m");
  const store = await openLmdbStore({ folder: join(disk, "store"), clock });
  t.after(() => store.close());
  const value = new Uint8Array(5_000).fill(7);
  const keys = await Promise.all(Array.from({ length: 100 }, (_, i) => store.put(`/${i}`, value, 0)));
  fillDisk(join(disk, "ballast"));
  for (const { key, modified } of keys) {
    const marked = await store.put(key, value, modified, { makesRoom: true });
    await store.delete(key, marked.modified);
  }
  await assert.rejects(store.put("/late", value, 0), OutOfSpace);
  rmSync(join(disk, "ballast"));
  await clock.sleep(600, t.signal); // it looks twice a second
  await store.put("/late", value, 0);

  // LMDB may end the process when it finds no room for a large value.
  for (let i = 0; i < 5; i++) {
    fillDisk(join(disk, "ballast"));
    for (let tries = 0; tries < 5; tries++)
      await assert.rejects(store.put(`/large/${i}`, new Uint8Array(100_000), 0), OutOfSpace);
    rmSync(join(disk, "ballast"));
    await clock.sleep(600, t.signal);
    await store.put(`/large/${i}`, new Uint8Array(100_000), 0);
  }
});

test("a delete behind a write of its key that the disk has no room for learns what is there", {
  skip: cannotMount,
}, async (t) => {
  const disk = smallDisk(t, "48m");
  const store = await openLmdbStore({ folder: join(disk, "store"), clock });
  t.after(() => store.close());
  const old = await store.put("/a", new Uint8Array(10), 0);
  fillDisk(join(disk, "ballast"));
  const refused = store.begin("/a", new Uint8Array(100_000), old.modified);
  assert.ok(refused);
  const [write, deletion] = await Promise.allSettled([
    refused.durable,
    store.delete("/a", refused.entry.modified),
  ] as const);
  assert.ok(write.status === "rejected" && write.reason instanceof OutOfSpace);
  assert.ok(deletion.status === "rejected" && deletion.reason instanceof Conflict);
  assert.equal(deletion.reason.present?.modified, old.modified);
  await store.delete("/a", old.modified);
});

test("a quota refuses puts with a clear alarm, allows deletes, and ends when there is room", async (t) => {
  const folder = scratch(t);
  const manual = new ManualClock();
  const store = await openLmdbStore({ folder, clock: manual, quotaBytes: 2 << 20 });
  t.after(() => store.close());
  const value = new Uint8Array(20_000);
  const puts: [string, number][] = [];
  const refused = async () => {
    for (let i = 0; i < 1_000; i++)
      try {
        const { key, modified } = await store.put(`/${puts.length}`, value, 0);
        puts.push([key, modified]);
        await manual.advance(1_000); // the quota is looked at every second
      } catch (error) {
        return error;
      }
    return undefined;
  };
  const refusal = await refused();
  assert.ok(refusal instanceof OutOfSpace, explain(refusal));
  assert.match(refusal.message, /uses .* MiB of its quota of 2\.0 MiB/);
  assert.match((await store.status()).alarm ?? "", /quota/);
  for (const [key, modified] of puts.splice(0, 60)) await store.delete(key, modified);
  await store.compact(await store.revision());
  await store.put("/room", value, 0);
  assert.equal((await store.status()).alarm, undefined);
});

test("a read-only folder is refused with its name", { skip: cannotMount }, async (t) => {
  const disk = smallDisk(t, "16m");
  const folder = join(disk, "store");
  await (await openLmdbStore({ folder, clock })).close();
  const remounted = spawnSync("mount", ["-o", "remount,ro", disk], { encoding: "utf8" });
  assert.equal(remounted.status, 0, remounted.stderr);
  await assert.rejects(openLmdbStore({ folder, clock }), new RegExp(`${folder} cannot be written; make it writable`));
  await assert.rejects(openLmdbStore({ folder: join(disk, "new"), clock }), /new cannot be written; make it writable/);
});

test("files that are no store are refused and left as they are", async (t) => {
  const root = scratch(t);
  const foreign = join(root, "foreign.lmdb");
  const other = open({ path: foreign, noSubdir: true });
  await other.put("a", 1);
  await other.close();
  const files: Record<string, Buffer> = {
    empty: Buffer.alloc(0),
    text: Buffer.from("hello\n"),
    "long text": Buffer.alloc(10_000, "hello\n"),
    zeros: Buffer.alloc(100_000),
    "another LMDB file": readFileSync(foreign),
  };
  for (const [name, content] of Object.entries(files)) {
    const folder = join(root, name);
    mkdirSync(folder);
    const file = join(folder, "store.lmdb");
    writeFileSync(file, content);
    await assert.rejects(openLmdbStore({ folder, clock }), (error) => {
      assert.ok(error instanceof Damaged, `${name}: ${explain(error)}`);
      assert.ok(explain(error).includes(file), explain(error));
      return true;
    });
    assert.ok(readFileSync(file).equals(content), `${name} was changed`);
  }
});

test("a store whose data file is missing is not replaced by an empty one", async (t) => {
  const folder = scratch(t);
  await (await openLmdbStore({ folder, clock })).close();
  rmSync(join(folder, "store.lmdb"));
  await assert.rejects(
    openLmdbStore({ folder, clock }),
    (error) => error instanceof Damaged && /has lost its data file .*store\.lmdb; restore it/.test(error.message),
  );
});

test("a folder held by another process is refused with its number, and free once that is killed", async (t) => {
  const folder = scratch(t);
  const holder = spawn(process.execPath, [script("hold.ts"), folder], { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => holder.kill("SIGKILL"));
  await once(holder.stdout, "data");
  await assert.rejects(
    openLmdbStore({ folder, clock }),
    new RegExp(`store ${folder} is held by process ${holder.pid}; stop it first`),
  );
  const exited = once(holder, "exit");
  holder.kill("SIGKILL");
  await exited;
  const store = await openLmdbStore({ folder, clock });
  await assert.rejects(openLmdbStore({ folder, clock }), new RegExp(`held by process ${process.pid}`));
  await store.close();
});

// Which of its heads LMDB goes by depends on whether the number of transactions is even.
for (const writes of [600, 601])
  test(`a damaged file of ${writes} writes is refused or noticed, and never taken for a sound one`, async (t) => {
    const folder = scratch(t);
    const pristine = join(folder, "pristine");
    const store = await openLmdbStore({ folder: join(folder, "store"), clock });
    const random = seededRandom(4);
    const modified = new Map<string, number>();
    for (let i = 0; i < writes; i++) {
      const key = `/registry/${random.below(9)}/${random.below(40)}`;
      const expected = modified.get(key) ?? 0;
      if (expected > 0 && random.next() < 0.2) {
        await store.delete(key, expected);
        modified.delete(key);
      } else modified.set(key, (await store.put(key, random.bytes(random.below(3_000)), expected)).modified);
      if (i === 300) await store.compact(200);
    }
    await store.close();
    copyFileSync(join(folder, "store", "store.lmdb"), pristine);

    const { size } = statSync(pristine);
    const damages: string[] = [];
    const flip = (offset: number) => damages.push(JSON.stringify({ flip: [offset, 1 << random.below(8)] }));
    const page = 8_192;
    for (const head of [0, page / 2, page]) for (let i = 0; i < 176; i += 2) flip(head + i);
    for (let at = 2 * page; at < size; at += page) for (let i = 0; i < 3; i++) flip(at + random.below(64));
    for (let i = 0; i < 200; i++) flip(random.below(size));
    for (const share of [0, 0.0001, 0.2, 0.5, 0.9, 0.999])
      damages.push(JSON.stringify({ cut: Math.floor(size * share) }));
    damages.push(JSON.stringify({ cut: size - page }), JSON.stringify({ cut: size - 1 }));

    const examiner = spawn(process.execPath, [script("examine.ts"), join(folder, "store"), pristine], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    t.after(() => examiner.kill("SIGKILL"));
    examiner.stdin.end(damages.map((line) => `${line}\n`).join(""));
    const counts: Record<string, number> = {};
    let last = "";
    for await (const line of createInterface(examiner.stdout)) {
      last = line;
      const outcome = line.slice(line.indexOf("} ") + 2);
      assert.match(outcome, /^(refused|noticed|intact)$/, line);
      counts[outcome] = (counts[outcome] ?? 0) + 1;
      if (line.includes("cut")) assert.equal(outcome, "refused", line);
    }
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
    assert.equal(total, damages.length, `the examiner ended after: ${last}`);
    t.diagnostic(`${total} damaged copies: ${JSON.stringify(counts)}`);
    assert.ok((counts.refused ?? 0) > 50 && (counts.noticed ?? 0) > 20, JSON.stringify(counts));
  });
