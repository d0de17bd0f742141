// `kubectl run` that stays with what it made: -i, -t, --attach and --rm (upstream: kubectl/pkg/cmd/run/run.go).
import { isNotFound } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import type { Invocation } from "../command.ts";
import { ExitError, KubectlError, usageError } from "../errors.ts";
import type { FlagDeclarations, ParsedFlags } from "../flags.ts";
import { generatedMapping } from "../generators/generated.ts";
import { metadataOf, resourcePath, stringIn } from "../resources/resource-info.ts";
import type { KubeObject } from "../rest/client.ts";
import type { Session } from "../session.ts";
import { chooseContainer, podFor, statusOf } from "../workloads/pods.ts";
import { type AttachSettings, detachKeysFlag } from "./stream/attach.ts";
import { attachOrLog, copyLog, hasEnded, runsOrHasEnded, untilPod } from "./stream/attach-created.ts";

export const runAttachFlags = {
  ...detachKeysFlag,
  attach: { type: "bool", help: "Wait for the pod to run, then attach to it; as usual with -i." },
  cascade: { type: "string", default: "background", help: "With --rm, how what depends on it is deleted." },
  force: { type: "bool", help: "With --rm, do not wait for the pod to end." },
  "grace-period": { type: "int", default: -1, help: "With --rm, seconds that the pod has to end.", isHidden: true },
  "leave-stdin-open": { type: "bool", help: "Leave the standard input open after the first one to attach has left." },
  "pod-running-timeout": { type: "duration", default: "1m", help: "How long to wait for a pod." },
  quiet: { type: "bool", short: "q", help: "Print only what the container prints." },
  rm: { type: "bool", help: "Delete the pod when it is over; only when attached." },
  stdin: { type: "bool", short: "i", help: "Keep the standard input of the container open." },
  timeout: { type: "duration", help: "With --rm, how long to wait for the end.", isHidden: true },
  tty: { type: "bool", short: "t", help: "Give the container a terminal." },
  wait: { type: "bool", help: "With --rm, wait until it is gone.", isHidden: true },
} as const satisfies FlagDeclarations;
type RunAttachFlags = ParsedFlags<typeof runAttachFlags>;

export const isAttached = (
  { attach, stdin }: RunAttachFlags,
  { changed }: Pick<Invocation<FlagDeclarations>, "changed">,
): boolean => (changed.has("attach") ? attach : stdin);

/** Throws KubectlError for flags that contradict each other. */
export function checkRunAttach(
  flags: RunAttachFlags & { readonly "dry-run": string },
  invocation: Pick<Invocation<FlagDeclarations>, "changed" | "commandPath">,
): void {
  const { commandPath } = invocation;
  if (flags["pod-running-timeout"] <= 0n)
    throw usageError("--pod-running-timeout must be higher than zero", commandPath);
  if (flags.tty && !flags.stdin)
    throw usageError("-i/--stdin is required for containers with -t/--tty=true", commandPath);
  const isOn = isAttached(flags, invocation);
  if (!isOn && flags.rm) throw usageError("--rm should only be used for attached containers", commandPath);
  if (isOn && flags["dry-run"] !== "none")
    throw usageError(
      "--dry-run=[server|client] can't be used with attached containers options (--attach, --stdin, or --tty)",
      commandPath,
    );
}

/** Attaches to the pod of what was made, and ends as its container does. */
export async function attachToRun(
  session: Session,
  object: KubeObject,
  created: readonly KubeObject[],
  flags: RunAttachFlags & { readonly restart: string },
): Promise<void> {
  const timeoutMs = Number(flags["pod-running-timeout"]) / 1e6;
  try {
    const found = await podFor(session, object, timeoutMs);
    const { name, namespace } = metadataOf(found);
    const place = { name: stringIn(name), namespace: stringIn(namespace) };
    await attachOnceRunning(session, place, timeoutMs, flags);
    const policy = stringIn(isObject(found.spec) ? found.spec.restartPolicy : "");
    if (flags["leave-stdin-open"] || policy === "Always") return;
    const isDone = policy === "Never" ? hasEnded : (pod: KubeObject) => statusOf(pod).phase === "Succeeded";
    raise(await untilPod(session, place, isDone, timeoutMs));
  } finally {
    if (flags.rm) for (const one of created) await remove(session, one, flags);
  }
}

async function attachOnceRunning(
  session: Session,
  place: { readonly name: string; readonly namespace: string },
  timeoutMs: number,
  flags: RunAttachFlags,
): Promise<void> {
  const pod = await untilPod(session, place, runsOrHasEnded, timeoutMs);
  const whole = { apiVersion: "v1", kind: "Pod", ...pod };
  const container = chooseContainer(session, whole, "", true).name;
  const settings: AttachSettings = { ...flags, container, detachKeys: flags["detach-keys"] };
  if (hasEnded(pod)) return copyLog(session, pod, container);
  await copyLog(session, pod, container).catch((error: unknown) => {
    if (session.io.signal.aborted || !(error instanceof Error)) throw error;
    session.printError(`warning: couldn't fetch pre-attach logs: ${error.message}`);
  });
  await attachOrLog(session, whole, settings);
}

function raise(pod: KubeObject): void {
  const { name, namespace } = metadataOf(pod);
  const { phase, containerStatuses } = statusOf(pod);
  if (phase === "Succeeded") return;
  if (phase !== "Failed") throw new KubectlError(`pod ${namespace}/${name} left in phase ${phase}`);
  const [first] = Array.isArray(containerStatuses) ? containerStatuses.filter(isObject) : [];
  const state = isObject(first?.state) ? first.state.terminated : undefined;
  const code = isObject(state) ? Number(state.exitCode) : 0;
  if (!isObject(state) || code === 0) throw new KubectlError(`pod ${namespace}/${name} failed with unknown exit code`);
  throw new ExitError(code, `pod ${namespace}/${name} terminated (${state.reason ?? ""})\n${state.message ?? ""}`);
}

async function remove(session: Session, object: KubeObject, flags: RunAttachFlags): Promise<void> {
  const mapping = generatedMapping(object);
  const { name, namespace } = metadataOf(object);
  const policies: Readonly<Record<string, string>> = {
    background: "Background",
    foreground: "Foreground",
    orphan: "Orphan",
  };
  const policy = policies[flags.cascade];
  if (policy === undefined)
    throw new KubectlError(`invalid cascade value (${flags.cascade}). Must be "background", "foreground", or "orphan"`);
  try {
    await (await session.client()).json({
      method: "DELETE",
      path: resourcePath(mapping, stringIn(namespace), stringIn(name)),
      contentType: "application/json",
      body: JSON.stringify({ propagationPolicy: policy, ...(flags.force && { gracePeriodSeconds: 0 }) }),
    });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return;
  }
  if (flags.quiet) return;
  const shown = `${mapping.kind.toLowerCase()}${mapping.group === "" ? "" : `.${mapping.group}`}`;
  session.print(`${shown} "${name}" ${flags.force ? "force deleted" : "deleted"} from ${namespace} namespace`);
}
