// A path inside a volume for one container. Containers of the same pod may write the volume while this one starts, so a path that was
// checked may be another a moment later: each folder on the way is held open, no link is followed, and what was found in the end is bound
// to a place that no container can reach.
import { chmod, constants, type FileHandle, mkdir, open, realpath, stat, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { hasCode } from "#base/errors.ts";
import { InputMissing } from "../../inputs/sources.ts";
import { exists } from "./files.ts";
import { bindMount, isMounted, unmountBelow } from "./mounts.ts";

/** Linux' own; Node does not name it. Opens the place, not what is there: a link, a socket and a device, too. */
const asPlace = 0o10000000;
const oneStep = asPlace | constants.O_NOFOLLOW;

/** Holds open what is at the path. Folders that are missing are made where that is allowed. */
export async function openBelow(root: string, subPath: string, mayMake: boolean): Promise<FileHandle> {
  const parts = subPath.split("/").filter((part) => part !== "" && part !== ".");
  const refuse = (how: string) => new InputMissing(`subPath ${JSON.stringify(subPath)} leads out of its volume${how}`);
  if (parts.includes("..")) throw refuse("");
  const realRoot = await realpath(root);
  const inside = relative(realRoot, await resolved(realRoot, parts));
  if (inside === ".." || inside.startsWith("../") || inside.startsWith("/")) throw refuse(" through a link");
  let handle = await open(realRoot, oneStep);
  try {
    const { mode } = await handle.stat();
    for (const part of inside.split("/").filter(Boolean)) {
      const next = await step(`/proc/self/fd/${handle.fd}/${part}`, mayMake, mode & 0o7777);
      await handle.close();
      handle = next;
      if ((await handle.stat()).isSymbolicLink()) throw refuse(" through a link that has just been made");
    }
  } catch (error) {
    await handle.close();
    if (hasCode(error, "ENOENT", "ENOTDIR")) throw new InputMissing(`subPath ${JSON.stringify(subPath)} is not there`);
    throw error;
  }
  return handle;
}

/** With the links that lead within the volume followed, as far as there is anything. */
async function resolved(root: string, parts: readonly string[]): Promise<string> {
  let path = root;
  for (const [i, part] of parts.entries()) {
    const next = join(path, part);
    try {
      path = await realpath(next);
    } catch (error) {
      if (!hasCode(error, "ENOENT")) throw error;
      // A link to nowhere is refused by whoever opens it.
      return join(next, ...parts.slice(i + 1));
    }
  }
  return path;
}

async function step(path: string, mayMake: boolean, mode: number): Promise<FileHandle> {
  try {
    return await open(path, oneStep);
  } catch (error) {
    if (!mayMake || !hasCode(error, "ENOENT")) throw error;
    await mkdir(path, { mode }).catch((failure) => {
      if (!hasCode(failure, "EEXIST")) throw failure;
    });
    const made = await open(path, oneStep);
    if ((await made.stat()).isDirectory()) await chmod(`/proc/self/fd/${made.fd}`, mode); // whatever the mask of this process says
    return made;
  }
}

/** Shows what is held open at the target, which is the kubelet's own. */
export async function bindTo(handle: FileHandle, target: string): Promise<void> {
  const wanted = await handle.stat();
  if (isMounted(target)) {
    const present = await stat(target);
    if (present.dev === wanted.dev && present.ino === wanted.ino) return;
    await unmountBelow(target);
  }
  await mkdir(dirname(target), { recursive: true, mode: 0o750 });
  if (wanted.isDirectory()) await mkdir(target, { recursive: true, mode: 0o750 });
  else if (!(await exists(target))) await writeFile(target, "", { mode: 0o640 });
  await bindMount(`/proc/${process.pid}/fd/${handle.fd}`, target);
}
