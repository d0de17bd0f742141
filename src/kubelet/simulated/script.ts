// How a simulated container behaves, as annotations of its pod tell it.
//
//   metadata:
//     annotations:
//       simulated.knarr.dev/run-for: 30s           # all containers of the pod
//       web.simulated.knarr.dev/exit-code: "1"     # the container called web
//
// | annotation     | value    | what it does                                                         | default                   |
// |----------------|----------|----------------------------------------------------------------------|---------------------------|
// | pull-delay     | duration | a pull takes this long                                               | 0s                        |
// | pull-error     | text     | pulls fail with this message                                         | they succeed              |
// | pull-failures  | number   | only as many pulls of a pod fail                                     | all, given an error       |
// | config-error   | text     | something that the container refers to is missing                    |                           |
// | create-error   | text     | the container cannot be created                                      |                           |
// | start-error    | text     | the container cannot be started                                      |                           |
// | start-delay    | duration | a start takes this long                                              | 0s                        |
// | run-for        | duration | it ends by itself after this long, or `forever`                      | see below                 |
// | exit-code      | number   | with which it ends by itself                                         | 0                         |
// | exit-reason    | text     | such as OOMKilled                                                    | Completed, or Error       |
// | exit-message   | text     | its last words                                                       |                           |
// | ready-after    | duration | startup and readiness probes succeed this long after the start       | 0s                        |
// | ready-for      | duration | the readiness probe fails this long after the start                  | never                     |
// | live-for       | duration | the liveness probe fails this long after the start                   | never                     |
// | probe-message  | text     | what a probe that fails says                                         | as scripted               |
// | stop-delay     | duration | it ends this long after it was asked to; longer than the grace: 137  | 0s                        |
// | stop-exit-code | number   | with which it ends when asked to                                     | 0                         |
// | logs           | text     | lines it writes when it starts                                       | one line                  |
// | cpu, memory    | quantity | what it uses                                                         | a tenth of its requests   |
//
// What is used may be changed while the container runs; everything else counts when it is created.
//
// A container that is always restarted runs forever; one that is not (of a Job) ends with 0 after a second; an init container ends
// with 0 at once. An annotation that makes no sense keeps the container from being created, with a message that says so.
import { isSidecar } from "#api/core/v1/amounts.ts";
import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { own } from "#base/collections.ts";
import { parseDurationMs } from "#base/duration.ts";
import { parseQuantity, QuantityError, quantityToNumber } from "#schema/quantity.ts";
import { restartPolicyOf } from "../pod/restart.ts";
import type { ContainerKind } from "../pod/view.ts";
import type { UseRate } from "./use.ts";

export interface ContainerScript {
  readonly pullDelayMs: number;
  readonly pullError: string | undefined;
  readonly pullFailures: number;
  readonly configError: string | undefined;
  readonly createError: string | undefined;
  readonly startError: string | undefined;
  readonly startDelayMs: number;
  /** Infinity: it does not end by itself. */
  readonly runMs: number;
  readonly exitCode: number;
  readonly exitReason: string | undefined;
  readonly exitMessage: string;
  readonly readyAfterMs: number;
  readonly readyMs: number;
  readonly liveMs: number;
  readonly probeMessage: string;
  readonly stopDelayMs: number;
  readonly stopExitCode: number;
  readonly logs: readonly string[];
  readonly cpuCores: number | undefined;
  readonly memoryBytes: number | undefined;
}

const forever: ContainerScript = {
  pullDelayMs: 0,
  pullError: undefined,
  pullFailures: Number.POSITIVE_INFINITY,
  configError: undefined,
  createError: undefined,
  startError: undefined,
  startDelayMs: 0,
  runMs: Number.POSITIVE_INFINITY,
  exitCode: 0,
  exitReason: undefined,
  exitMessage: "",
  readyAfterMs: 0,
  readyMs: Number.POSITIVE_INFINITY,
  liveMs: Number.POSITIVE_INFINITY,
  probeMessage: "as scripted",
  stopDelayMs: 0,
  stopExitCode: 0,
  logs: ["started"],
  cpuCores: undefined,
  memoryBytes: undefined,
};
const once: ContainerScript = { ...forever, runMs: 1000 };
const atOnce: ContainerScript = { ...forever, runMs: 0 };

const domain = "simulated.knarr.dev/";

/** Throws for an annotation that makes no sense, naming it. */
export function scriptOf(pod: Pod, container: Container, kind: ContainerKind): ContainerScript {
  const base = defaultScript(pod, container, kind);
  const { annotations } = pod.metadata;
  if (!annotations || !Object.keys(annotations).some((key) => key.includes(domain))) return base;
  let script = base;
  for (const [name, read] of Object.entries(readers)) {
    const key = [`${container.name}.${domain}${name}`, `${domain}${name}`].find((one) =>
      Object.hasOwn(annotations, one),
    );
    const value = key === undefined ? undefined : own(annotations, key);
    if (typeof value !== "string") continue;
    try {
      script = { ...script, ...read(value) };
    } catch (cause) {
      throw new Error(`annotation ${key}: ${JSON.stringify(value)} makes no sense here`, { cause });
    }
  }
  return script;
}

/** What the annotations say now that a container uses. Those that make no sense count for nothing: it runs already. */
export function scriptedUse(pod: Pod, container: string): Partial<UseRate> {
  const { annotations } = pod.metadata;
  if (!annotations) return {};
  const read = (name: "cpu" | "memory"): number | undefined => {
    const text = own(annotations, `${container}.${domain}${name}`) ?? own(annotations, `${domain}${name}`);
    return text !== undefined && isQuantity(text) ? quantityToNumber(parseQuantity(text)) : undefined;
  };
  const [cpuCores, memoryBytes] = [read("cpu"), read("memory")];
  return { ...(cpuCores !== undefined && { cpuCores }), ...(memoryBytes !== undefined && { memoryBytes }) };
}

function isQuantity(text: string): boolean {
  try {
    return quantityToNumber(parseQuantity(text)) >= 0;
  } catch (error) {
    if (error instanceof QuantityError) return false;
    throw error;
  }
}

export function defaultScript({ spec }: Pod, container: Container, kind: ContainerKind): ContainerScript {
  if (kind === "init" && !isSidecar(container)) return atOnce;
  if (kind === "ephemeral") return forever;
  return restartPolicyOf(container, spec) === "Always" ? forever : once;
}

const readers: Readonly<Record<string, (value: string) => Partial<ContainerScript>>> = {
  "pull-delay": (value) => ({ pullDelayMs: duration(value) }),
  "pull-error": (value) => ({ pullError: value }),
  "pull-failures": (value) => ({ pullFailures: whole(value) }),
  "config-error": (value) => ({ configError: value }),
  "create-error": (value) => ({ createError: value }),
  "start-error": (value) => ({ startError: value }),
  "start-delay": (value) => ({ startDelayMs: duration(value) }),
  "run-for": (value) => ({ runMs: value === "forever" ? Number.POSITIVE_INFINITY : duration(value) }),
  "exit-code": (value) => ({ exitCode: whole(value) }),
  "exit-reason": (value) => ({ exitReason: value }),
  "exit-message": (value) => ({ exitMessage: value }),
  "ready-after": (value) => ({ readyAfterMs: duration(value) }),
  "ready-for": (value) => ({ readyMs: duration(value) }),
  "probe-message": (value) => ({ probeMessage: value }),
  "live-for": (value) => ({ liveMs: duration(value) }),
  "stop-delay": (value) => ({ stopDelayMs: duration(value) }),
  "stop-exit-code": (value) => ({ stopExitCode: whole(value) }),
  logs: (value) => ({ logs: value.replace(/\n$/, "").split("\n") }),
  cpu: (value) => ({ cpuCores: quantityToNumber(parseQuantity(value)) }),
  memory: (value) => ({ memoryBytes: quantityToNumber(parseQuantity(value)) }),
};

function duration(text: string): number {
  const ms = parseDurationMs(text);
  if (ms < 0) throw new Error("a duration must not be negative");
  return ms;
}

function whole(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new Error("a whole number is needed");
  return Number(text);
}
