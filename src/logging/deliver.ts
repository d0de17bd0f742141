// Sends lines until they are taken. What a receiver refuses for good is dropped, counted and told.
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import { backoffMs } from "#base/retry.ts";
import type { CollectorMetrics } from "./collector-metrics.ts";
import type { ContainerLine } from "./log-line.ts";
import { BatchTooLarge, BusyReceiver, type LogOutput } from "./output.ts";

export interface DeliverOptions {
  /** Asked before every try: the configuration may have changed. */
  readonly output: () => LogOutput;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: CollectorMetrics;
}

const backoff = { firstMs: 500, maxMs: 30_000, jitter: 0.2 };
const longestWaitMs = 60_000;
/** How often a receiver that stays away is told of. */
const tellEvery = 10;

/** Resolves when each line was taken or dropped. */
export async function deliver(
  lines: readonly ContainerLine[],
  options: DeliverOptions,
  signal: AbortSignal,
): Promise<void> {
  let left = lines;
  for (let failures = 0; left.length > 0; ) {
    const output = options.output();
    try {
      const { rejected = 0, reason = "", unsent = [] } = await output.send(left, signal);
      options.metrics.sent.add(left.length - rejected - unsent.length);
      if (rejected > 0) drop(rejected, reason, output, options);
      left = unsent;
      if (unsent.length === 0) return;
      throw new Error(`${unsent.length} of the lines were not taken: ${reason}`);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof BatchTooLarge) return divide(left, explain(error), options, signal);
      options.metrics.failures.add();
      if (failures++ % tellEvery === 0)
        options.log.warn("lines were not taken; trying again", { output: output.name, error: explain(error) });
      const waitMs = backoffMs(backoff, failures - 1, options.random);
      const wantedMs = error instanceof BusyReceiver ? error.waitMs : 0;
      await options.clock.sleep(Math.min(longestWaitMs, Math.max(waitMs, wantedMs)), signal);
    }
  }
}

async function divide(
  lines: readonly ContainerLine[],
  reason: string,
  options: DeliverOptions,
  signal: AbortSignal,
): Promise<void> {
  if (lines.length === 1) return drop(1, reason, options.output(), options);
  const middle = lines.length >> 1;
  await deliver(lines.slice(0, middle), options, signal);
  await deliver(lines.slice(middle), options, signal);
}

function drop(count: number, reason: string, { name }: LogOutput, { log, metrics }: DeliverOptions): void {
  metrics.dropped.of("rejected").add(count);
  log.error("lines were refused and are dropped", { output: name, lines: count, reason });
}
