// Parses large YAML in a worker thread: parsing takes ten times as long as JSON, and cannot be interrupted. There is one thread, which ends
// when there is nothing left to parse; its memory and its time are limited.
import { Worker } from "node:worker_threads";
import type { Clock } from "#base/clock.ts";
import { DecodeError, tooManyValues } from "#schema/json.ts";
import { tookTooLong } from "../status.ts";
import type { YamlReader, YamlText } from "../yaml/reader.ts";

export interface YamlJob {
  readonly bytes: Uint8Array;
  readonly mostValues: number;
}

export type YamlAnswer = YamlText | { readonly problem: string } | { readonly isTooMuch: true };

interface Waiting {
  readonly job: YamlJob;
  resolve(text: YamlText): void;
  reject(error: Error): void;
}

const mostMegabytes = 768;
/** The slowest text of 3 MiB that is known takes two seconds. */
const longestMs = 30_000;

export function yamlThread(clock: Clock): YamlReader {
  const waiting: Waiting[] = [];
  let isRunning = false;

  const run = async () => {
    isRunning = true;
    let worker: Worker | undefined;
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      worker ??= new Worker(new URL("./yaml-worker.ts", import.meta.url), {
        resourceLimits: { maxOldGenerationSizeMb: mostMegabytes },
      });
      try {
        next.resolve(textOf(await ask(worker, next.job, clock), next.job));
      } catch (error) {
        next.reject(error as Error);
        // Whether it is still fit for another is not known.
        await worker.terminate();
        worker = undefined;
      }
    }
    isRunning = false;
    await worker?.terminate();
  };

  return (bytes, mostValues) =>
    new Promise((resolve, reject) => {
      // A copy, which the thread takes over: what came in may be part of a larger buffer.
      waiting.push({ job: { bytes: new Uint8Array(bytes), mostValues }, resolve, reject });
      if (!isRunning) void run();
    });
}

function ask(worker: Worker, job: YamlJob, clock: Clock): Promise<YamlAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<YamlAnswer>();
  const disarm = clock.after(longestMs, () => reject(tookTooLong()));
  const failed = (error: NodeJS.ErrnoException) =>
    reject(error.code === "ERR_WORKER_OUT_OF_MEMORY" ? tooManyValues(job.mostValues) : error);
  worker.once("message", resolve).once("error", failed);
  worker.postMessage(job, [job.bytes.buffer as ArrayBuffer]);
  return promise.finally(() => {
    disarm();
    worker.off("message", resolve).off("error", failed);
  });
}

function textOf(answer: YamlAnswer, { mostValues }: YamlJob): YamlText {
  if ("problem" in answer) throw new DecodeError(answer.problem);
  if ("isTooMuch" in answer) throw tooManyValues(mostValues);
  return answer;
}
