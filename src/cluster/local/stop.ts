import type { ClusterFolder } from "./cluster-folder.ts";
import { endProcess } from "./end.ts";
import type { Settings } from "./settings.ts";

/** Ends the process of a cluster and all its containers; false if it did not run. Its state stays. */
export async function stopCluster(
  place: ClusterFolder,
  settings: Settings | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  const wasRunning = await endProcess(place, signal);
  if (settings?.runtime === "containerd") {
    const { localNodes } = await import("../machine/local-nodes.ts");
    await localNodes(place, settings).switchOff();
  }
  return wasRunning;
}
