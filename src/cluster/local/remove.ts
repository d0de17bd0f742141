import { rmSync } from "node:fs";
import type { ClusterFolder } from "./cluster-folder.ts";
import { readSettings } from "./settings.ts";

/** Removes all that is left of a cluster that does not run: its nodes, its folder, and its entry in the kubeconfig. */
export async function removeCluster(place: ClusterFolder): Promise<void> {
  const settings = readSettings(place);
  const kubeconfig = settings?.kubeconfig;
  if (settings?.runtime !== "simulated") {
    const [{ forgottenNodes }, { localNodes }] = await Promise.all([
      import("../machine/forgotten-nodes.ts"),
      import("../machine/local-nodes.ts"),
    ]);
    const nodes = settings ? localNodes(place, settings) : forgottenNodes(place);
    await nodes?.remove();
  }
  if (kubeconfig !== undefined) {
    const { removeContext } = await import("./contexts.ts");
    await removeContext(place, kubeconfig, new AbortController().signal);
  }
  rmSync(place.folder, { recursive: true, force: true });
}
