// What kubectl does with nodes as well, with what is usual here.
import type { ClusterFolder } from "./cluster-folder.ts";

export interface DrainOptions {
  /** Removes pods that nobody makes anew. */
  readonly force: boolean;
  /** As kubectl has it; 0s for as long as it takes. */
  readonly timeout: string;
}

/** Resolves with the exit code of kubectl, which says what it does. */
export const drainNode = (place: ClusterFolder, name: string, { force, timeout }: DrainOptions): Promise<number> =>
  kubectlFor(place, "drain", name, [
    "--ignore-daemonsets",
    "--delete-emptydir-data",
    `--force=${force}`,
    `--timeout=${timeout}`,
  ]);

/** Lets no new pods come to a node, or lets them come again. */
export const cordonNode = (place: ClusterFolder, name: string, isCordoned: boolean): Promise<number> =>
  kubectlFor(place, isCordoned ? "cordon" : "uncordon", name, []);

async function kubectlFor(place: ClusterFolder, verb: string, name: string, flags: readonly string[]): Promise<number> {
  place.mustExist();
  const [{ kubectl }, { processIo }] = await Promise.all([
    import("#kubectl/main.ts"),
    import("#kubectl/process-io.ts"),
  ]);
  return kubectl([verb, name, ...flags, `--kubeconfig=${place.adminKubeconfig}`], processIo());
}
