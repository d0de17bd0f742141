// Attaching to what was only just made: it first has to run (upstream: handleAttachPod in kubectl/pkg/cmd/run and cmd/debug).
import { ApiError } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import { KubectlError } from "../../errors.ts";
import { written } from "../../io.ts";
import { metadataOf, resourcePath, stringIn } from "../../resources/resource-info.ts";
import { watchResource } from "../../resources/watch-resource.ts";
import type { KubeObject } from "../../rest/client.ts";
import type { Session } from "../../session.ts";
import { isReady, podMapping, statusOf } from "../../workloads/pods.ts";
import { type AttachSettings, attachTo } from "./attach.ts";

/** The pod once it is as `isDone` wants it. Rejects with ApiError if it is deleted, and with KubectlError when time is up; 0 is for ever. */
export async function untilPod(
  session: Session,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  isDone: (pod: KubeObject) => boolean,
  timeoutMs: number,
): Promise<KubeObject> {
  const late = new AbortController();
  const expire = () => late.abort(new KubectlError("timed out waiting for the condition"));
  const cancel = timeoutMs > 0 ? session.io.clock.after(timeoutMs, expire) : () => undefined;
  try {
    for (;;) {
      const request = { mapping: podMapping, namespace, name, signal: late.signal };
      for await (const { type, object } of watchResource(await session.client(), request)) {
        if (type === "DELETED")
          throw new ApiError({ code: 404, reason: "NotFound", message: `pods ${JSON.stringify(name)} not found` });
        if ((type === "ADDED" || type === "MODIFIED") && isDone(object)) return object;
      }
    }
  } finally {
    cancel();
    late.abort();
  }
}

/** What a container of the pod has logged so far. */
export async function copyLog(session: Session, pod: KubeObject, container: string): Promise<void> {
  const { name, namespace } = metadataOf(pod);
  const path = resourcePath(podMapping, stringIn(namespace), stringIn(name), "log");
  const { body } = await (await session.client()).open({ path, query: [["container", container]], isEndless: true });
  for await (const part of body) await written(session.io.stdout, part);
}

export const hasEnded = (pod: KubeObject): boolean => ["Succeeded", "Failed"].includes(stringIn(statusOf(pod).phase));
export const runsOrHasEnded = (pod: KubeObject): boolean =>
  hasEnded(pod) || (statusOf(pod).phase === "Running" && isReady(pod));

/** Waits for the container, then attaches; of one that is over already the log is shown. */
export async function attachWhenRunning(session: Session, pod: KubeObject, settings: AttachSettings): Promise<void> {
  const { name, namespace } = metadataOf(pod);
  const place = { name: stringIn(name), namespace: stringIn(namespace) };
  const running = await untilPod(session, place, (one) => hasBegun(session, one, settings), 0);
  if (stateOf(running, settings.container).terminated !== undefined)
    return copyLog(session, running, settings.container);
  await attachOrLog(session, { apiVersion: "v1", kind: "Pod", ...running }, settings);
}

/** Where attaching fails, what was logged has to do. */
export async function attachOrLog(session: Session, pod: KubeObject, settings: AttachSettings): Promise<void> {
  try {
    await attachTo(session, pod, settings);
  } catch (error) {
    if (session.io.signal.aborted || !(error instanceof Error)) throw error;
    session.printError(
      `warning: couldn't attach to pod/${metadataOf(pod).name}, falling back to streaming logs: ${error.message}`,
    );
    await copyLog(session, pod, settings.container);
  }
}

function hasBegun(session: Session, pod: KubeObject, { container, quiet }: AttachSettings): boolean {
  const { running, terminated, waiting } = stateOf(pod, container);
  if (isObject(waiting) && !quiet && stringIn(waiting.message) !== "")
    session.warn(`container ${container}: ${waiting.message}`);
  return running !== undefined || terminated !== undefined;
}

function stateOf(pod: KubeObject, container: string): Readonly<Record<string, unknown>> {
  const { initContainerStatuses, containerStatuses, ephemeralContainerStatuses } = statusOf(pod);
  const all = [initContainerStatuses, containerStatuses, ephemeralContainerStatuses].flat().filter(isObject);
  const state = all.find(({ name }) => name === container)?.state;
  return isObject(state) ? state : {};
}
