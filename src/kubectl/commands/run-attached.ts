// `kubectl run -it`: follows the pod that was made until it ends (upstream: kubectl/pkg/cmd/run/run.go).
import { isNotFound } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import { ExitError, KubectlError } from "../errors.ts";
import type { FlagDeclarations } from "../flags.ts";
import { generatedMapping } from "../generators/generated.ts";
import { deleteInfo, metadataOf, stringIn } from "../resources/resource-info.ts";
import type { KubeObject } from "../rest/client.ts";
import type { Session } from "../session.ts";
import { chooseContainer, podFor, statusOf } from "../workloads/pods.ts";
import { detachKeysFlag } from "./stream/attach.ts";
import { attachOrLog, copyLog, hasEnded, runsOrHasEnded, untilPod } from "./stream/attach-created.ts";

export const attachedFlags = {
  ...detachKeysFlag,
  attach: { type: "bool", help: "Attach to the pod once it runs; true with --stdin, unless said otherwise." },
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

export interface AttachedRun {
  /** The pod, or what makes one. */
  readonly object: KubeObject;
  readonly stdin: boolean;
  readonly tty: boolean;
  readonly quiet: boolean;
  readonly detachKeys: string;
  readonly leaveStdinOpen: boolean;
  readonly restartPolicy: string;
  readonly timeoutMs: number;
}

/** Returns when the attachment has ended and, if it is not started again, the pod too. Throws ExitError with the container's code. */
export async function followPod(session: Session, run: AttachedRun): Promise<void> {
  const { name, namespace } = metadataOf(await podFor(session, run.object, run.timeoutMs));
  const place = { name: stringIn(name), namespace: stringIn(namespace) };
  const pod = await untilPod(session, place, runsOrHasEnded, run.timeoutMs);
  const whole = { apiVersion: "v1", kind: "Pod", ...pod };
  const container = chooseContainer(session, whole, "", true).name;
  if (hasEnded(pod)) await copyLog(session, pod, container);
  else {
    // What the container has printed until now would not be seen by attaching to it.
    await copyLog(session, pod, container).catch((error: unknown) => {
      if (session.io.signal.aborted || !(error instanceof Error)) throw error;
      session.printError(`warning: couldn't fetch pre-attach logs: ${error.message}`);
    });
    await attachOrLog(session, whole, { ...run, container });
  }
  if (run.leaveStdinOpen || run.restartPolicy === "Always") return;
  const isDone = run.restartPolicy === "OnFailure" ? (one: KubeObject) => phaseOf(one) === "Succeeded" : hasEnded;
  const ended = await untilPod(session, place, isDone, run.timeoutMs);
  if (phaseOf(ended) === "Failed") throw failureOf(ended);
}

const phaseOf = (pod: KubeObject): string => stringIn(statusOf(pod).phase);

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

/** Deletes what was made, and says so unless it is to be quiet. */
export async function removeMade(
  session: Session,
  objects: readonly KubeObject[],
  deletion: KubeObject,
  isQuiet: boolean,
): Promise<void> {
  const client = await session.client();
  for (const object of objects) {
    const mapping = generatedMapping(object);
    const [name, namespace] = [stringIn(metadataOf(object).name), stringIn(metadataOf(object).namespace)];
    try {
      await deleteInfo(client, { mapping, name, namespace, source: "", object, subresource: "" }, deletion);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      continue;
    }
    const kind = `${mapping.kind.toLowerCase()}${mapping.group === "" ? "" : `.${mapping.group}`}`;
    if (!isQuiet) session.print(`${kind} "${name}" deleted from ${namespace} namespace`);
  }
}
