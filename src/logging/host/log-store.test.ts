import assert from "node:assert/strict";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import type { ContainerLine, LogSource } from "../log-line.ts";
import { formatNanoTime, nanosOf } from "../nanos.ts";
import { formatBatch, parseBatch } from "../store/batch.ts";
import { formatMoment } from "../store/place.ts";
import { formatContinue, parseQuery } from "../store/query.ts";
import { LogStore } from "./log-store.ts";

const { signal } = new AbortController();
const start = Date.parse("2026-01-01T00:00:00Z");

class Folder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "knarr-logs-"));
  get segments(): readonly string[] {
    return readdirSync(this.path)
      .toSorted()
      .map((name) => join(this.path, name));
  }
  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

const openStore = (
  folder: Folder,
  { clock = new ManualClock(start), maxBytes = 2 ** 30, maxAgeMs = 86_400_000 } = {},
) => LogStore.open({ folder: folder.path, retention: () => ({ maxBytes, maxAgeMs }), clock, log: silentLog });

const sourceOf = (pod: string, labels: Record<string, string> = {}, namespace = "default"): LogSource => ({
  node: "node-1",
  namespace,
  pod,
  uid: `uid-${pod}`,
  container: "main",
  attempt: 0,
  labels,
});

const lineOf = (source: LogSource, position: number, text: string, nanos = position): ContainerLine => ({
  source,
  position,
  text,
  time: formatNanoTime({ seconds: start / 1000 + Math.floor(nanos / 1e9), nanos: nanos % 1e9 }),
  stream: "stdout",
  isCut: false,
});

const found = async (store: LogStore, parameters: Record<string, string> = {}, namespace?: string) =>
  (await store.search(parseQuery(new URLSearchParams(parameters), namespace), signal)).lines.map(({ text }) => text);

test("lines are found by namespace, pod, labels, container, time and text", async () => {
  using folder = new Folder();
  const store = await openStore(folder);
  const web = sourceOf("web-1", { app: "web", tier: "a" });
  const old = { ...sourceOf("web-0", { app: "web" }), container: "side" };
  const other = sourceOf("web-1", { app: "web" }, "shop");
  const lines = [
    lineOf(web, 1, "GET /index", 1e9),
    lineOf(old, 1, "GET /old", 2e9),
    lineOf(other, 1, "secret", 3e9),
    lineOf(web, 2, "POST /form 500", 4e9),
  ];
  await store.append(parseBatch(formatBatch("e", lines)));
  assert.deepEqual(await found(store), ["GET /index", "GET /old", "secret", "POST /form 500"]);
  assert.deepEqual(await found(store, {}, "default"), ["GET /index", "GET /old", "POST /form 500"]);
  assert.deepEqual(await found(store, { podSelector: "app=web,tier" }, "default"), ["GET /index", "POST /form 500"]);
  assert.deepEqual(await found(store, { pod: "web-0" }), ["GET /old"]);
  assert.deepEqual(await found(store, { container: "side" }), ["GET /old"]);
  assert.deepEqual(await found(store, { grep: "^POST .* 5\\d\\d$" }), ["POST /form 500"]);
  assert.deepEqual(await found(store, { grep: "GET" }), ["GET /index", "GET /old"]);
  const times = { since: "2026-01-01T00:00:02Z", until: "2026-01-01T00:00:04Z" };
  assert.deepEqual(await found(store, times), ["GET /old", "secret"]);
  assert.deepEqual(await found(store, { order: "last", limit: "2" }), ["secret", "POST /form 500"]);
  await store.close();
});

test("a query that cannot be meant is refused with the parameter's name", () => {
  const refused: Record<string, Record<string, string>> = {
    podSelector: { podSelector: "a=b=c" },
    grep: { grep: "(" },
    since: { since: "yesterday" },
    limit: { limit: "0" },
    order: { order: "any" },
    continue: { continue: "1.2.3/4.5" },
    namespace: { namespace: "x" },
  };
  for (const [name, parameters] of Object.entries(refused))
    assert.throws(() => parseQuery(new URLSearchParams(parameters), undefined), {
      code: 400,
      message: new RegExp(`^${name}: `),
    });
});

test("a pattern that would take a backtracking engine for ever is answered at once", async () => {
  using folder = new Folder();
  const store = await openStore(folder);
  await store.append({ epoch: "e", lines: [lineOf(sourceOf("a"), 1, `${"a".repeat(50_000)}!`)] });
  assert.deepEqual(await found(store, { grep: "^(a+)+$" }), []);
  await store.close();
});

test("lines that come again are kept once, also after a restart, and other epochs are other lines", async () => {
  using folder = new Folder();
  const store = await openStore(folder);
  const lines = [1, 2, 3].map((n) => lineOf(sourceOf("a"), n, `line ${n}`));
  assert.deepEqual(await store.append({ epoch: "e", lines: lines.slice(0, 2) }), { stored: 2, known: 0 });
  assert.deepEqual(await store.append({ epoch: "e", lines }), { stored: 1, known: 2 });
  await store.close();
  const again = await openStore(folder);
  assert.deepEqual(await again.append({ epoch: "e", lines }), { stored: 0, known: 3 });
  assert.deepEqual(await again.append({ epoch: "f", lines }), { stored: 3, known: 0 });
  await again.close();
});

test("wherever a crash ends a write, whole lines before it stay, and the store goes on", async () => {
  using folder = new Folder();
  const store = await openStore(folder);
  const source = sourceOf("a", { app: "web" });
  const lines = Array.from({ length: 6 }, (_, i) => lineOf(source, i + 1, `line ${i} ${"ü".repeat(i)}`));
  await store.append({ epoch: "e", lines: lines.slice(0, 3) });
  const [path = ""] = folder.segments;
  const before = statSync(path).size;
  await store.append({ epoch: "e", lines: lines.slice(3) });
  await store.close();
  const whole = readFileSync(path);
  for (let size = before; size <= whole.length; size++) {
    writeFileSync(path, whole.subarray(0, size));
    const again = await openStore(folder);
    const kept = await found(again);
    assert.ok(kept.length >= 3 && kept.every((text, i) => text === lines[i]?.text), `${size}: ${kept}`);
    // The collector was told nothing, so it sends all of it again.
    await again.append({ epoch: "e", lines: lines.slice(3) });
    assert.deepEqual(
      await found(again),
      lines.map(({ text }) => text),
    );
    await again.close();
    assert.deepEqual(readFileSync(path), whole);
  }
});

test("damage of any byte loses lines after it, invents none, and never keeps the store from opening", async () => {
  using folder = new Folder();
  const random = seededRandom(7);
  const store = await openStore(folder);
  const lines = Array.from({ length: 50 }, (_, i) => lineOf(sourceOf(`p${i % 5}`), i + 1, `line ${i}`));
  await store.append({ epoch: "e", lines });
  await store.close();
  const [path = ""] = folder.segments;
  const whole = readFileSync(path);
  for (let round = 0; round < 300; round++) {
    using copy = new Folder();
    mkdirSync(copy.path, { recursive: true });
    const damaged = Buffer.from(whole);
    for (let n = 0; n <= round % 3; n++) damaged[random.below(damaged.length)] = random.below(256);
    copyFileSync(path, join(copy.path, "0000000001.log"));
    writeFileSync(join(copy.path, "0000000001.log"), damaged.subarray(0, random.below(damaged.length + 1)));
    const again = await openStore(copy);
    const kept = await found(again);
    assert.deepEqual(
      kept,
      lines.slice(0, kept.length).map(({ text }) => text),
    );
    await again.append({ epoch: "g", lines: [lineOf(sourceOf("new"), 1, "new", 999)] });
    assert.deepEqual(await found(again, { pod: "new" }), ["new"]);
    await again.close();
  }
});

test("the disk has never more than the limit, and the newest lines stay", async () => {
  using folder = new Folder();
  const maxBytes = 1024 * 1024;
  const store = await openStore(folder, { maxBytes });
  for (let n = 1; n <= 300; n++) {
    await store.append({ epoch: "e", lines: [lineOf(sourceOf(`p${n % 7}`), n, `${n} ${"x".repeat(10_000)}`)] });
    const onDisk = folder.segments.reduce((sum, path) => sum + statSync(path).size, 0);
    assert.ok(onDisk <= maxBytes + 10_300, `${onDisk} bytes after ${n}`);
  }
  assert.ok(store.removedSegments > 0);
  const [newest] = await found(store, { order: "last", limit: "1" });
  assert.match(newest ?? "", /^300 /);
  assert.equal((await found(store, { grep: "^1 " })).length, 0);
  await store.close();
});

test("lines that are too old go, also when nothing comes any more", async () => {
  using folder = new Folder();
  const clock = new ManualClock(start);
  const store = await openStore(folder, { clock, maxAgeMs: 3_600_000 });
  await store.append({ epoch: "e", lines: [lineOf(sourceOf("a"), 1, "old")] });
  clock.jumpTo(start + 3_500_000);
  await store.prune();
  assert.deepEqual(await found(store), ["old"]);
  clock.jumpTo(start + 3_700_000);
  await store.prune();
  assert.deepEqual(await found(store), []);
  await store.close();
});

test("pages and tails are what a sort of all lines would give, in any order of arrival", async () => {
  const random = seededRandom(11);
  for (let round = 0; round < 15; round++) {
    using folder = new Folder();
    const store = await openStore(folder, { maxBytes: 2 ** 24 });
    const all: ContainerLine[] = [];
    const positions = new Map<string, number>();
    for (let batch = 0; batch < 8; batch++) {
      const lines = Array.from({ length: 1 + random.below(120) }, () => {
        const source = sourceOf(`p${random.below(6)}`, { app: `a${random.below(2)}` });
        const position = (positions.get(source.pod) ?? 0) + 1;
        positions.set(source.pod, position);
        return lineOf(
          source,
          position,
          `${"y".repeat(random.below(3000))} ${all.length + position}`,
          random.below(20) * 1e8,
        );
      });
      all.push(...lines);
      await store.append({ epoch: "e", lines });
    }
    const isWanted = ({ source }: ContainerLine) => source.labels.app === "a1";
    const sorted = all
      .filter(isWanted)
      .toSorted((a, b) => Number(nanosOf(a.time) - nanosOf(b.time)))
      .map(({ text }) => text);
    const limit = 1 + random.below(80);
    const pages: string[] = [];
    let next: string | undefined;
    do {
      const parameters = { podSelector: "app=a1", limit: String(limit), ...(next && { continue: next }) };
      const page = await store.search(parseQuery(new URLSearchParams(parameters), undefined), signal);
      pages.push(...page.lines.map(({ text }) => text));
      const last = page.lines.at(-1);
      next = page.isLimited && last ? formatContinue(formatMoment(last.moment), page.end) : undefined;
    } while (next);
    assert.deepEqual(pages, sorted);
    const tail = await found(store, { podSelector: "app=a1", order: "last", limit: String(limit) });
    assert.deepEqual(tail, sorted.slice(-limit));
    await store.close();
  }
});

test("whoever follows gets each line that comes after a search once, as it came", async () => {
  using folder = new Folder();
  const store = await openStore(folder, { maxBytes: 2 ** 22 });
  const add = (n: number) =>
    store.append({ epoch: "e", lines: [lineOf(sourceOf("a"), n, `${n} ${"x".repeat(3000)}`, 1000 - n)] });
  for (let n = 1; n <= 20; n++) await add(n);
  const first = await store.search(parseQuery(new URLSearchParams({ limit: "5" }), undefined), signal);
  let from = `${first.end.segment}.${first.end.offset}`;
  for (let n = 21; n <= 400; n++) await add(n);
  const followed: string[] = [];
  for (let more = true; more; ) {
    const query = parseQuery(new URLSearchParams({ order: "arrival", from, limit: "70" }), undefined);
    const { lines, end, isLimited } = await store.search(query, signal);
    followed.push(...lines.map(({ text }) => text.split(" ")[0] ?? ""));
    from = `${end.segment}.${end.offset}`;
    more = isLimited;
  }
  assert.deepEqual(
    followed,
    Array.from({ length: 380 }, (_, i) => String(i + 21)),
  );
  await store.close();
});
