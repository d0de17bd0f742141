// A path inside a volume for one container. Other containers of the pod may change the volume meanwhile, so the file or folder that was
// found is bind-mounted where no container can reach it, as upstream's pkg/volume/util/subpath/subpath_linux.go does.
import { chmod, type FileHandle, mkdir, realpath, stat, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { hasCode } from "#base/errors.ts";
import { InputMissing } from "../../inputs/sources.ts";
import { exists, makeFolder } from "./files.ts";
import { bindMount, isMounted, unmountBelow } from "./mounts.ts";
import { entryOf, openPath, pathOf } from "./path-handles.ts";

/** The mode of folders that are made on the way: that of the volume's root, or this one. Undefined: missing folders are an error. */
export type ModeOfMissing = "of the root" | number | undefined;

/** Opens the path below the root. Missing folders are made if a mode is given for them. */
export async function openBelow(root: string, subPath: string, missing?: ModeOfMissing): Promise<FileHandle> {
  const parts = subPath.split("/").filter((part) => part !== "" && part !== ".");
  const refuse = (how: string) => new InputMissing(`subPath ${JSON.stringify(subPath)} leads out of its volume${how}`);
  if (parts.includes("..")) throw refuse("");
  const realRoot = await realpath(root);
  const inside = relative(realRoot, await resolved(realRoot, parts));
  if (inside === ".." || inside.startsWith("../") || inside.startsWith("/")) throw refuse(" through a link");
  let handle = await openPath(realRoot);
  try {
    const mode = missing === "of the root" ? (await handle.stat()).mode & 0o7777 : missing;
    for (const part of inside.split("/").filter(Boolean)) {
      const next = await step(entryOf(handle, part), mode);
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

/** Follows links as far as the path exists. */
async function resolved(root: string, parts: readonly string[]): Promise<string> {
  let path = root;
  for (const [i, part] of parts.entries()) {
    const next = join(path, part);
    try {
      path = await realpath(next);
    } catch (error) {
      if (!hasCode(error, "ENOENT")) throw error;
      // A dangling link is refused when it is opened.
      return join(next, ...parts.slice(i + 1));
    }
  }
  return path;
}

async function step(path: string, modeOfMissing: number | undefined): Promise<FileHandle> {
  try {
    return await openPath(path);
  } catch (error) {
    if (modeOfMissing === undefined || !hasCode(error, "ENOENT")) throw error;
  }
  try {
    await mkdir(path, { mode: modeOfMissing });
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
    return openPath(path); // made at the same time by another container
  }
  const made = await openPath(path);
  if ((await made.stat()).isDirectory()) await chmod(pathOf(made), modeOfMissing); // whatever the mask of this process says
  return made;
}

/** Bind-mounts an open file or folder at the target, which is in a folder of the kubelet's own. */
export async function bindTo(handle: FileHandle, target: string): Promise<void> {
  const source = await handle.stat();
  if (isMounted(target)) {
    const mounted = await stat(target);
    if (mounted.dev === source.dev && mounted.ino === source.ino) return;
    await unmountBelow(target);
  }
  await makeFolder(dirname(target), 0o750);
  if (source.isDirectory()) await makeFolder(target, 0o750);
  else if (!(await exists(target))) await writeFile(target, "", { mode: 0o640 });
  await bindMount(`/proc/${process.pid}/fd/${handle.fd}`, target);
}
