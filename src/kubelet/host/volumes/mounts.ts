// Mounts that the kubelet makes and ends.
import { mounts, mountsBelow } from "#base/host/mounts.ts";
import { runProgram } from "#base/host/run-program.ts";

export const isMounted = (wanted: string): boolean => mounts().some(({ path }) => path === wanted);

export async function mountTmpfs(
  folder: string,
  { sizeBytes, gid, mode }: { readonly sizeBytes: bigint; readonly gid: number; readonly mode: number },
): Promise<void> {
  const options = `size=${sizeBytes},gid=${gid},mode=${mode.toString(8)}`;
  await runProgram(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder]);
}

/** The source is taken as it is: a link that a container has put there is not followed. */
export async function bindMount(source: string, target: string): Promise<void> {
  await runProgram(["mount", "--no-canonicalize", "--bind", source, target]);
}

/** Ends all that is mounted there and below. */
export async function unmountBelow(folder: string): Promise<void> {
  for (const path of mountsBelow(folder)) await runProgram(["umount", path]);
}
