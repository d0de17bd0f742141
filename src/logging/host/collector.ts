// Follows all logs of a node and sends what they say. Memory is bounded by the buffer: while that is full nothing is read, and what is not
// read is kept by the node until it rotates it away. A checkpoint is written after each batch that was taken.
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { MetricRegistry } from "#base/metrics.ts";
import type { Random } from "#base/random.ts";
import { type Component, supervise } from "#base/supervise.ts";
import type { Checkpoint } from "../checkpoints.ts";
import { type CollectorMetrics, collectorMetrics } from "../collector-metrics.ts";
import { deliver } from "../deliver.ts";
import { LineBuffer } from "../line-buffer.ts";
import type { LogSource } from "../log-line.ts";
import type { LogOutput } from "../output.ts";
import type { PodLabels } from "../pod-labels.ts";
import type { LogSettings } from "../settings.ts";
import { loadCheckpoints, saveCheckpoints } from "./checkpoint-file.ts";
import { ContainerLogReader } from "./container-log-reader.ts";
import { type FoundLog, findLogs } from "./log-folders.ts";

export interface CollectorOptions {
  readonly node: string;
  /** Where the logs of all pods of the node are. */
  readonly folder: string;
  /** Where checkpoints are kept. */
  readonly checkpointFile: string;
  readonly labels: PodLabels;
  /** Asked before each use: both may change. */
  readonly settings: () => LogSettings;
  readonly output: (epoch: string) => LogOutput;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: MetricRegistry;
}

/** A log, and who reads it. */
interface FollowedLog {
  readonly path: string;
  readonly reader: ContainerLogReader;
  readonly foundAt: number;
  source: LogSource;
  hasLabels: boolean;
  /** Lines that were read and not delivered yet. */
  pending: number;
  /** It is not read before. */
  restUntil: number;
  readonly counted: { lostParts: number; malformed: number };
}

const pollMs = 250;
const scanMs = 1000;
const readBytes = 64 * 1024;
/** How long a new log waits for the labels of its pod, of which the kubelet may have heard first. */
const labelsMs = 3000;
/** How long a log rests that could not be read. */
const failedMs = 10_000;

export class LogCollector implements Component {
  readonly name = "log collector";
  readonly #options: CollectorOptions;
  readonly #buffer: LineBuffer<FollowedLog>;
  readonly #metrics: CollectorMetrics;
  readonly #logs = new Map<string, FollowedLog>();
  #epoch = "";
  #checkpoints = new Map<string, Checkpoint>();
  /** Who reads next, so that a full buffer is not always filled by the same. */
  #turn = 0;
  #scanProblem = "";

  constructor(options: CollectorOptions) {
    this.#options = options;
    this.#buffer = new LineBuffer(() => options.settings().bufferBytes);
    this.#metrics = collectorMetrics(
      options.metrics,
      () => this.#buffer.bytes,
      () => this.#logs.size,
    );
  }

  /** Whether the folder of the logs can be read. */
  get isHealthy(): boolean {
    return this.#scanProblem === "";
  }

  async run(signal: AbortSignal): Promise<void> {
    const { epoch, logs } = await loadCheckpoints(this.#options.checkpointFile, this.#options.random);
    this.#epoch = epoch;
    this.#checkpoints = new Map(logs);
    try {
      await supervise(
        [
          { name: "reading", run: (inner) => this.#read(inner) },
          { name: "sending", run: (inner) => this.#send(inner) },
        ],
        signal,
      );
    } finally {
      for (const { reader } of this.#logs.values()) await reader.close();
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    let scannedAt = Number.NEGATIVE_INFINITY;
    while (!signal.aborted) {
      if (clock.elapsed() - scannedAt >= scanMs) {
        await this.#scan();
        scannedAt = clock.elapsed();
      }
      const hasRead = await this.#round(signal);
      if (!hasRead || this.#buffer.isFull) await clock.sleep(pollMs, signal);
    }
  }

  /** Each log once, until the buffer is full. */
  async #round(signal: AbortSignal): Promise<boolean> {
    const logs = [...this.#logs.values()];
    let hasRead = false;
    for (let i = 0; i < logs.length && !this.#buffer.isFull && !signal.aborted; i++) {
      const log = logs[this.#turn++ % logs.length] as FollowedLog;
      if (this.#isDue(log)) hasRead = (await this.#readOne(log)) || hasRead;
    }
    return hasRead;
  }

  async #readOne(log: FollowedLog): Promise<boolean> {
    let lines: Awaited<ReturnType<ContainerLogReader["readLines"]>>;
    try {
      lines = await log.reader.readLines(readBytes);
    } catch (error) {
      // One file that cannot be read must not keep others from being read.
      this.#options.log.error("a log cannot be read; trying again", { path: log.path, error: explain(error) });
      log.restUntil = this.#options.clock.elapsed() + failedMs;
      return false;
    }
    this.#count(log);
    if (!lines) return false;
    for (const { resumeAt, ...line } of lines) {
      if (line.isCut) this.#metrics.cut.add();
      log.pending++;
      this.#buffer.push({ line: { ...line, source: log.source }, resumeAt, log });
    }
    this.#metrics.read.add(lines.length);
    return true;
  }

  /** Puts the labels of the pod in, as far as they are known. */
  #isDue(log: FollowedLog): boolean {
    const { labels: known, clock } = this.#options;
    if (clock.elapsed() < log.restUntil) return false;
    const labels = known.of(log.source.uid);
    if (labels && labels !== log.source.labels) {
      log.source = { ...log.source, labels };
      log.hasLabels = true;
    }
    return log.hasLabels || clock.elapsed() - log.foundAt >= labelsMs;
  }

  #count({ reader, counted, path }: FollowedLog): void {
    const lost = reader.lostParts - counted.lostParts;
    if (lost > 0) {
      this.#metrics.lostFiles.add(lost);
      this.#options.log.error("files of a log were removed before they were read", { path, files: lost });
    }
    this.#metrics.dropped.of("malformed").add(reader.malformed - counted.malformed);
    counted.lostParts = reader.lostParts;
    counted.malformed = reader.malformed;
  }

  /** Looks for logs that are new, rotated and gone. */
  async #scan(): Promise<void> {
    const { folder, log, clock } = this.#options;
    let found: readonly FoundLog[];
    try {
      found = await findLogs(folder);
      this.#scanProblem = "";
    } catch (error) {
      const problem = explain(error);
      if (problem !== this.#scanProblem) log.error("the logs of the node cannot be read", { folder, error: problem });
      this.#scanProblem = problem;
      return;
    }
    const present = new Set(found.map(({ path }) => path));
    for (const one of found) if (!this.#logs.has(one.path)) this.#follow(one, clock.elapsed());
    for (const followed of this.#logs.values()) {
      await followed.reader.look().catch((error: unknown) => {
        log.error("the files of a log cannot be looked at; trying again", {
          path: followed.path,
          error: explain(error),
        });
      });
      this.#count(followed);
      if (!followed.reader.isOver || followed.pending > 0 || present.has(followed.path)) continue;
      this.#logs.delete(followed.path);
      await followed.reader.close();
    }
    for (const path of this.#checkpoints.keys()) if (!this.#logs.has(path)) this.#checkpoints.delete(path);
  }

  #follow({ path, folder, log, ...place }: FoundLog, foundAt: number): void {
    const { node, clock, settings } = this.#options;
    const { maxLineBytes } = settings();
    const { namespace, pod, uid, container, attempt } = place;
    this.#logs.set(path, {
      path,
      reader: new ContainerLogReader({ folder, log, checkpoint: this.#checkpoints.get(path), maxLineBytes, clock }),
      foundAt,
      source: { node, namespace, pod, uid, container, attempt, labels: {} },
      hasLabels: false,
      pending: 0,
      restUntil: Number.NEGATIVE_INFINITY,
      counted: { lostParts: 0, malformed: 0 },
    });
  }

  async #send(signal: AbortSignal): Promise<void> {
    const { clock, random, log, settings, output } = this.#options;
    const metrics = this.#metrics;
    const options = { output: () => output(this.#epoch), clock, random, log, metrics };
    for (;;) {
      while (this.#buffer.length === 0) await this.#buffer.changed(signal);
      const { lines: mostLines, bytes: mostBytes, waitMs } = settings().batch;
      if (this.#buffer.length < mostLines && this.#buffer.bytes < mostBytes) await clock.sleep(waitMs, signal);
      const batch = this.#buffer.take(mostLines, mostBytes);
      await deliver(
        batch.map(({ line }) => line),
        options,
        signal,
      );
      const last = new Map(batch.map((one) => [one.log, one]));
      for (const { log: followed } of batch) followed.pending--;
      for (const [{ path, reader }, { line, resumeAt }] of last)
        this.#checkpoints.set(path, reader.checkpoint({ resumeAt, position: line.position }));
      this.#buffer.release();
      await this.#save();
    }
  }

  async #save(): Promise<void> {
    const { checkpointFile, log } = this.#options;
    try {
      await saveCheckpoints(checkpointFile, { epoch: this.#epoch, logs: this.#checkpoints });
    } catch (error) {
      log.error("a checkpoint was not written; after a restart lines may come twice", { error: explain(error) });
    }
  }
}
