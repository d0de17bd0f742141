// No acknowledged write is ever lost: a process that writes with 64 writers is killed at random moments, again and again.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { systemClock } from "#base/clock.ts";
import { seededRandom } from "#base/random.ts";
import type { Revision } from "#store/engine.ts";
import { openLmdbStore } from "#store/host/lmdb.ts";
import { follow } from "#store/testing.ts";
import { crashStoreOptions, writeOf } from "./crash-values.ts";

const KILLS = Number(process.env.KNARR_ROUNDS ?? 80);
const { signal: never } = new AbortController();
const writer = fileURLToPath(new URL("crash-writer.ts", import.meta.url));

interface Note {
  readonly type: "put" | "delete";
  readonly revision: Revision;
  readonly key: string;
  readonly write: string | undefined;
}

test(`a store killed ${KILLS} times under 64 writers keeps every acknowledged write`, {}, async (t) => {
  const root = mkdtempSync(join(tmpdir(), "knarr-crash-"));
  const folder = join(root, "store");
  const random = seededRandom(Number(process.env.KNARR_SEED ?? 1));
  const started: ChildProcess[] = [];
  t.after(() => {
    for (const child of started) child.kill("SIGKILL");
    rmSync(root, { recursive: true, force: true });
  });

  const notesOf = (round: number) => join(root, `notes-${round}`);
  const start = (round: number) => {
    const child = spawn(process.execPath, [writer, folder, notesOf(round), `${round}`], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    started.push(child);
    return { child, ready: once(child.stdout, "data"), exited: once(child, "exit") };
  };

  /** What a watcher that was there from the beginning believes; it has seen everything up to `seen`. */
  const model = new Map<string, { readonly revision: Revision; readonly write: string }>();
  let seen = 1;
  let acknowledged = 0;
  /** How many were killed that had written something. */
  let struck = 0;
  let unexamined: Note[] = [];
  let next = start(0);

  for (let round = 0; round < KILLS; round++) {
    const { child, ready, exited } = next;
    await ready;
    child.stdin.write("go\n");
    next = start(round + 1);
    // At any moment, also while it opens the store; more often amid its writes, however slow the machine is.
    if (random.next() < 0.25) await systemClock.sleep(random.below(200), never);
    else await writtenTo(notesOf(round), 1 + random.below(8_000), exited);
    child.kill("SIGKILL");
    const [code, signal] = await exited;
    assert.deepEqual([code, signal], [null, "SIGKILL"], "the writer must not end by itself");
    const notes = readNotes(notesOf(round));
    if (notes.length > 0) struck++;
    unexamined.push(...notes);
    // Now and then the next victim, not the examiner, is the first to open what was left behind.
    if (random.next() < 0.3 && round < KILLS - 1) continue;

    const store = await openLmdbStore({ folder, clock: systemClock, ...crashStoreOptions });
    const newest = await store.revision();
    const watcher = follow(store, "/", seen);
    await watcher.caughtUpTo(newest);
    await watcher.stop();

    const found = new Map(watcher.changes.map((change) => [change.entry.modified, change]));
    for (const { type, revision, key, write } of unexamined) {
      assert.ok(revision > seen, `revision ${revision} was given again`);
      const change = found.get(revision);
      assert.ok(change, `acknowledged ${type} of ${key} at ${revision} is lost; the newest revision is ${newest}`);
      assert.deepEqual([change.type, change.entry.key], [type, key]);
      if (type === "put") assert.equal(writeOf(key, change.entry.value), write);
    }
    for (const { type, entry, previous } of watcher.changes) {
      assert.equal(
        previous?.modified,
        model.get(entry.key)?.revision,
        `what ${entry.key} was before ${entry.modified}`,
      );
      if (type === "delete") model.delete(entry.key);
      else model.set(entry.key, { revision: entry.modified, write: writeOf(entry.key, entry.value) });
    }
    const { entries, revision } = await store.list("/");
    assert.deepEqual(
      entries.map((entry) => [entry.key, entry.modified, writeOf(entry.key, entry.value)]),
      [...model].map(([key, { revision: modified, write }]) => [key, modified, write]).toSorted(byKey),
    );
    acknowledged += unexamined.length;
    unexamined = [];
    seen = revision;
    await store.close();
  }
  t.diagnostic(`${acknowledged} acknowledged writes, newest revision ${seen}; ${struck} were killed amid their writes`);
  assert.ok(struck > KILLS / 2, `only ${struck} had written something when they were killed`);
});

const byKey = ([a]: readonly unknown[], [b]: readonly unknown[]) => (String(a) < String(b) ? -1 : 1);

/** Resolves when the file has so many bytes, or the process that writes it has ended. */
async function writtenTo(path: string, bytes: number, exited: Promise<unknown>): Promise<void> {
  let isOver = false;
  void exited.then(() => {
    isOver = true;
  });
  while (!isOver && (statSync(path, { throwIfNoEntry: false })?.size ?? 0) < bytes) await systemClock.sleep(1, never);
}

/** The last line may be cut off: then it was not acknowledged to anyone. */
function readNotes(path: string): Note[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => {
    const [type, revision, key = "", write] = line.split(" ");
    assert.ok(type === "put" || type === "delete", line);
    return { type, revision: Number(revision), key, write };
  });
}
