// What the settings of a cluster may say of how its control plane runs.
import type { Settings } from "./settings.ts";

export const controlPlaneModes = ["process", "pods"] as const;

/** Whether the API server, the controller manager and the scheduler are static pods of the first node. */
export const isInPods = (settings: Pick<Settings, "control-plane">): boolean => settings["control-plane"] === "pods";

type ControlPlaneSettings = Pick<Settings, "control-plane" | "runtime" | "store" | "etcd-servers">;

/** Why the control plane cannot run as these say; undefined if it can. */
export function controlPlaneProblem(settings: ControlPlaneSettings, isOpen: boolean): string | undefined {
  const mode = settings["control-plane"];
  if (!controlPlaneModes.some((one) => one === mode))
    return `${controlPlaneModes.join(" or ")}, not ${JSON.stringify(mode)}`;
  if (!isInPods(settings)) return undefined;
  if (settings.runtime !== "containerd")
    return "pods need real containers: run this as root with --runtime containerd, or leave it out";
  if (isOpen)
    return "in pods the API is served at the address of the first node, which other machines cannot reach: leave out --bind-address, or this";
  if (settings.store === "memory")
    return "a pod that is restarted would forget everything with --store memory: leave that out, or this";
  const onLoopback = settings["etcd-servers"].find((url) => /\/\/(127\.|localhost|\[::1\])/.test(url));
  return onLoopback === undefined
    ? undefined
    : `the first node, where the API server runs in a pod, has a loopback of its own: ${onLoopback} is not there; name the etcd by an address that nodes reach`;
}
