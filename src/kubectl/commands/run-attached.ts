// `kubectl run -it`: follows the pod that was made until it ends (upstream: kubectl/pkg/cmd/run/run.go).

import { ApiError } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import { ExitError, KubectlError } from "../errors.ts";
import { type FlagDeclarations, parseArguments } from "../flags.ts";
import { deleteInfo, metadataOf, resourcePath, stringIn } from "../resources/resource-info.ts";
import type { KubeObject } from "../rest/client.ts";
import type { Session } from "../session.ts";
import { podMapping, statusOf } from "../workloads/pods.ts";
import { attach } from "./stream/attach.ts";

export const attachedFlags = {
  attach: { type: "bool", help: "Attach to the pod once it runs; true with --stdin, unless said otherwise." },
  "detach-keys": { type: "string", help: "Keys that end the attachment and leave the pod running." },
  "leave-stdin-open": {
    type: "bool",
    help: "With --stdin, the container's input stays open after the first attachment.",
  },
  "pod-running-timeout": { type: "duration", default: "1m", help: "How long to wait until a pod runs." },
  quiet: { type: "bool", short: "q", help: "Print only what the container prints." },
  rm: { type: "bool", help: "Delete the pod when it has ended, and what was made with it." },
  stdin: { type: "bool", short: "i", help: "Keep the container's input open, and pass the standard input to it." },
  tty: { type: "bool", short: "t", help: "The container has a terminal." },
} as const satisfies FlagDeclarations;

/** How often it is looked what became of the pod. */
const lookMs = 500;

export interface AttachedRun {
  readonly pod: KubeObject;
  readonly stdin: boolean;
  readonly tty: boolean;
  readonly quiet: boolean;
  readonly leaveStdinOpen: boolean;
  readonly restartPolicy: string;
  readonly timeout: bigint;
}

/** Returns when the attachment has ended and, if it is not started again, the pod too. Throws ExitError with the container's code. */
export async function followPod(session: Session, run: AttachedRun): Promise<void> {
  const { name, namespace } = metadataOf(run.pod);
  const path = resourcePath(podMapping, stringIn(namespace), stringIn(name));
  const running = await untilPod(session, path, run.timeout, (pod) => phaseOf(pod) === "Running" || isOver(pod));
  if (isOver(running)) await printLogs(session, path);
  else await attachOrLogs(session, stringIn(name), path, run);
  if (run.leaveStdinOpen || run.restartPolicy === "Always") return;
  const isDone = run.restartPolicy === "OnFailure" ? (pod: KubeObject) => phaseOf(pod) === "Succeeded" : isOver;
  const ended = await untilPod(session, path, run.timeout, isDone);
  if (phaseOf(ended) === "Failed") throw failureOf(ended);
}

const phaseOf = (pod: KubeObject): string => stringIn(statusOf(pod).phase);
const isOver = (pod: KubeObject): boolean => ["Succeeded", "Failed"].includes(phaseOf(pod));

async function untilPod(
  session: Session,
  path: string,
  timeout: bigint,
  isReady: (pod: KubeObject) => boolean,
): Promise<KubeObject> {
  const { clock, signal } = session.io;
  const client = await session.client();
  const began = clock.elapsed();
  for (;;) {
    const pod = await client.json({ path });
    if (isReady(pod)) return pod;
    if (clock.elapsed() - began > Number(timeout) / 1e6) throw new KubectlError("timed out waiting for the condition");
    await clock.sleep(lookMs, signal);
  }
}

async function attachOrLogs(session: Session, name: string, path: string, run: AttachedRun): Promise<void> {
  const { flags: declared, run: runAttach } = attach;
  if (!declared || !runAttach) throw new Error("attach cannot be run");
  const { flags, ...parsed } = parseArguments(
    declared,
    [`--stdin=${run.stdin}`, `--tty=${run.tty}`, `--quiet=${run.quiet}`],
    () => undefined,
  );
  try {
    await runAttach(session, [name], flags, { ...parsed, flags, commandPath: "kubectl attach" });
  } catch (error) {
    if (!(error instanceof ApiError) && !(error instanceof KubectlError)) throw error;
    session.printError(`warning: couldn't attach to pod/${name}, falling back to streaming logs: ${error.message}`);
    await printLogs(session, path);
  }
}

async function printLogs(session: Session, path: string): Promise<void> {
  const { body } = await (await session.client()).open({
    path: `${path}/log`,
    query: [["follow", "true"]],
    isEndless: true,
  });
  for await (const part of body) session.io.stdout.write(part);
}

function failureOf(pod: KubeObject): Error {
  const { name, namespace } = metadataOf(pod);
  const { containerStatuses } = statusOf(pod);
  const [first] = Array.isArray(containerStatuses) ? containerStatuses.filter(isObject) : [];
  const state = isObject(first?.state) ? first.state.terminated : undefined;
  if (!isObject(state) || typeof state.exitCode !== "number" || state.exitCode === 0)
    return new KubectlError(`pod ${namespace}/${name} failed with unknown exit code`);
  const why = `pod ${namespace}/${name} terminated (${stringIn(state.reason)})\n${stringIn(state.message)}`;
  return new ExitError(state.exitCode, `${why.trimEnd()}\n`);
}

/** Deletes what was made, and says so. */
export async function removeMade(session: Session, pod: KubeObject, deletion: KubeObject): Promise<void> {
  const { name, namespace } = metadataOf(pod);
  const place = { mapping: podMapping, name: stringIn(name), namespace: stringIn(namespace) };
  await deleteInfo(await session.client(), { ...place, source: "", object: pod, subresource: "" }, deletion);
  session.print(`pod "${place.name}" deleted from ${place.namespace} namespace`);
}
