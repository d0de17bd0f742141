// Kubelets for tests: they make pods ready, and end those that are asked to.
import { Pod } from "#api/core/v1/pod.ts";
import { isConflict, isNotFound } from "#base/errors.ts";
import { isReady } from "#rules/conditions.ts";
import { hasEnded, isActive } from "#rules/pods.ts";
import { timeOf } from "#schema/time.ts";
import type { TestCluster } from "./cluster.ts";

/** Makes every pod ready that is not, unless `isBroken`, and removes every pod whose grace period has begun. */
export async function runPods(
  { client, server }: TestCluster,
  isBroken: (pod: Pod) => boolean = () => false,
): Promise<void> {
  const { items } = await client.list(Pod);
  for (const pod of items.filter(({ metadata }) => metadata.deletionTimestamp !== undefined)) {
    await unlessMoved(client.delete(Pod, pod.metadata, { graceSeconds: 0 }));
  }
  for (const pod of items.filter((one) => isActive(one) && !isReady(one) && !isBroken(one))) {
    const at = timeOf(server.clock.now());
    const conditions = [{ type: "Ready", status: "True", lastTransitionTime: at }];
    await unlessMoved(
      client.update(Pod, { ...pod, status: { ...pod.status, phase: "Running", conditions } }, "status"),
    );
  }
}

/** A pod that was changed or taken away meanwhile is looked at again in the next round, as kubelets do. */
const unlessMoved = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  });

/** Ends every pod that runs with the exit code `verdict` gives, if it gives one; and those that are being deleted in any case. */
export async function endPods(
  { client, server }: TestCluster,
  verdict: (pod: Pod) => number | undefined,
): Promise<void> {
  for (const pod of (await client.list(Pod)).items.filter((one) => !hasEnded(one))) {
    const isGoing = pod.metadata.deletionTimestamp !== undefined;
    const exitCode = isGoing ? 143 : verdict(pod);
    if (exitCode === undefined) continue;
    const terminated = { exitCode, finishedAt: timeOf(server.clock.now()) };
    const containerStatuses = pod.spec.containers.map(({ name, image = "" }) => ({
      name,
      image,
      imageID: "",
      ready: false,
      restartCount: 0,
      state: { terminated },
      lastState: {},
    }));
    const phase = exitCode === 0 ? "Succeeded" : "Failed";
    await unlessMoved(client.update(Pod, { ...pod, status: { ...pod.status, phase, containerStatuses } }, "status"));
    if (isGoing) await unlessMoved(client.delete(Pod, pod.metadata, { graceSeconds: 0 }));
  }
}
