// The collector on real files that the kubelet's own rotation moves away, with the real store behind it.
import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { ManualClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { MetricRegistry } from "#base/metrics.ts";
import { seededRandom } from "#base/random.ts";
import { rotateLog } from "#kubelet/host/logs/files.ts";
import { LogCollector } from "#logging/host/collector.ts";
import { LogStore } from "#logging/host/log-store.ts";
import type { LogOutput } from "#logging/output.ts";
import { parseLogSettings } from "#logging/settings.ts";
import { formatBatch, parseBatch } from "#logging/store/batch.ts";
import { parseQuery } from "#logging/store/query.ts";

const start = Date.parse("2026-01-01T00:00:00Z");

/** A node with one pod, and what reads its logs. */
class Scene implements AsyncDisposable {
  readonly folder: string;
  readonly logs: string;
  readonly container: string;
  readonly log: string;
  readonly clock = new ManualClock(start);
  readonly random = seededRandom(5);
  readonly store: LogStore;
  metrics = new MetricRegistry();
  /** How often the output fails before it takes something, and whether the collector ends before it hears that it was taken. */
  failures = 0;
  isDeaf = false;
  #written = 0;
  #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  private constructor(folder: string, store: LogStore) {
    this.folder = folder;
    this.logs = join(folder, "pods");
    this.container = join(this.logs, "default_web_uid-1", "main");
    this.log = join(this.container, "0.log");
    this.store = store;
    mkdirSync(this.container, { recursive: true });
  }

  static async make(): Promise<Scene> {
    const folder = mkdtempSync(join(tmpdir(), "knarr-collector-"));
    const clock = new ManualClock(start);
    const retention = () => ({ maxBytes: 2 ** 26, maxAgeMs: 86_400_000 });
    const store = await LogStore.open({ folder: join(folder, "store"), retention, clock, log: silentLog });
    return new Scene(folder, store);
  }

  write(text: string, tag: "P" | "F" = "F", stream = "stdout"): void {
    const time = `2026-01-01T00:00:00.${String(++this.#written).padStart(9, "0")}Z`;
    appendFileSync(this.log, `${time} ${stream} ${tag} ${text}\n`);
  }

  /** As a kubelet does it; what the runtime writes meanwhile goes to the old file. */
  rotate(files = 1000): Promise<void> {
    const reopen = async () => appendFileSync(this.log, "");
    return rotateLog(this.log, { files, now: start + this.#written * 1000, reopen });
  }

  begin(settings: Record<string, string> = {}): void {
    this.#stop = new AbortController();
    this.metrics = new MetricRegistry();
    const parsed = parseLogSettings({ batchWait: "10ms", ...settings });
    const { clock, random, metrics, logs: folder } = this;
    const collector = new LogCollector({
      node: "node-1",
      folder,
      checkpointFile: join(this.folder, "checkpoints.json"),
      labels: { of: (uid) => (uid === "uid-1" ? { app: "web" } : undefined) },
      settings: () => parsed,
      output: (epoch) => this.#output(epoch),
      clock,
      random,
      log: silentLog,
      metrics,
    });
    this.#running = collector.run(this.#stop.signal).catch((error: unknown) => {
      if (!this.#stop.signal.aborted) throw error;
    });
  }

  async end(): Promise<void> {
    this.#stop.abort(new Error("ended"));
    await this.#running;
  }

  /** Lets time pass until the store has so many lines. */
  async until(lines: number): Promise<void> {
    for (let i = 0; this.store.lines < lines; i++) {
      if (i > 4000) throw new Error(`${this.store.lines} of ${lines} lines:\n${await this.metrics.text()}`);
      await this.pass();
    }
  }

  async pass(ms = 250): Promise<void> {
    await this.clock.advance(ms);
    await pause(1);
  }

  async texts(): Promise<readonly string[]> {
    const query = parseQuery(new URLSearchParams({ limit: "5000", podSelector: "app=web" }), "default");
    return (await this.store.search(query, new AbortController().signal)).lines.map(({ text }) => text);
  }

  #output(epoch: string): LogOutput {
    return {
      name: "test",
      send: async (lines) => {
        if (this.failures-- > 0) throw new Error("nobody is there");
        await this.store.append(parseBatch(formatBatch(epoch, lines)));
        if (this.isDeaf) throw new Error("the answer was lost");
        return {};
      },
      close: () => undefined,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
    await this.store.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

test("no line is lost or doubled by rotations, restarts, lost answers and a receiver that fails", async () => {
  await using scene = await Scene.make();
  const expected: string[] = [];
  const line = (text: string, stream?: string) => {
    scene.write(text, "F", stream);
    expected.push(text);
  };
  const random = seededRandom(3);
  scene.begin();
  for (let step = 0; step < 120; step++) {
    const what = random.below(12);
    if (what < 6)
      for (let n = random.below(30); n >= 0; n--) line(`step ${step} line ${n} ${"x".repeat(random.below(200))}`);
    else if (what === 6) {
      scene.write(`long ${step} `, "P");
      line(`between ${step}`, "stderr");
      if (random.below(2) === 0) await scene.rotate();
      scene.write("end", "F");
      expected.push(`long ${step} end`);
    } else if (what === 7 && step > 0) {
      line(`before ${step}`);
      await scene.rotate();
    } else if (what === 8) {
      await scene.end();
      line(`while away ${step}`);
      if (random.below(2) === 0) await scene.rotate();
      scene.begin();
    } else if (what === 9) scene.failures = random.below(4);
    else if (what === 10) {
      scene.isDeaf = true;
      await scene.pass(1500);
      await scene.end();
      scene.isDeaf = false;
      scene.begin();
    } else await scene.pass(1000);
  }
  await scene.until(expected.length);
  await scene.pass(5000);
  assert.deepEqual((await scene.texts()).toSorted(), expected.toSorted());
  assert.doesNotMatch(await scene.metrics.text(), /lost_files_total [1-9]|dropped_lines_total\{.*\} [1-9]/);
});

test("what a pod wrote last is delivered, though its files are removed at once", async () => {
  await using scene = await Scene.make();
  scene.write("first");
  scene.begin();
  await scene.until(1);
  for (let n = 0; n < 500; n++) scene.write(`last ${n}`);
  rmSync(join(scene.logs, "default_web_uid-1"), { recursive: true });
  await scene.until(501);
  for (let i = 0; i < 40; i++) await scene.pass(500);
  assert.match(await scene.metrics.text(), /knarr_log_collector_logs 0$/m);
  assert.equal((await scene.texts()).length, 501);
});

test("a receiver that stays away costs bounded memory, and what rotation takes meanwhile is counted", async () => {
  await using scene = await Scene.make();
  scene.failures = Number.POSITIVE_INFINITY;
  scene.begin({ bufferBytes: "64Ki" });
  for (let file = 0; file < 6; file++) {
    for (let n = 0; n < 400; n++) scene.write(`file ${file} line ${n} ${"x".repeat(500)}`);
    for (let i = 0; i < 8; i++) await scene.pass(500);
    await scene.rotate(3);
    const [, bytes = "0"] = /^knarr_log_collector_buffer_bytes (\S+)$/m.exec(await scene.metrics.text()) ?? [];
    // A read of one piece may go beyond.
    assert.ok(Number(bytes) < 64 * 1024 + 4 * 64 * 1024, bytes);
  }
  for (let i = 0; i < 8; i++) await scene.pass(500);
  const [, lost = "0"] = /^knarr_log_collector_lost_files_total (\d+)$/m.exec(await scene.metrics.text()) ?? [];
  assert.ok(Number(lost) >= 2, lost);
  scene.failures = 0;
  scene.write("at last");
  for (let i = 0; !(await scene.texts()).includes("at last"); i++) {
    assert.ok(i < 2000, "the last line never came");
    await scene.pass(1000);
  }
});
