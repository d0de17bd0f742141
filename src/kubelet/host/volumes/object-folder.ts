// A folder whose files change all at once: readers see the old ones or the new ones. As upstream does it, and as programs that watch
// for changes know it: files are links into `..data`, which is a link to the folder of the present state, and is replaced by a rename.
import { chmod, mkdir, readdir, readFile, readlink, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import type { VolumeFile } from "../../inputs/files.ts";

/** Returns whether anything had to be changed. */
export async function writeObjectFolder(folder: string, files: readonly VolumeFile[], stamp: string): Promise<boolean> {
  for (const { path } of files)
    if (normalize(path) !== path || path.startsWith("/") || path.startsWith("..") || path.split("/").includes(".."))
      throw new Error(`file ${JSON.stringify(path)} would be outside of its volume`);
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const present = await readlink(join(folder, "..data")).catch(() => undefined); // there is none at first
  if (present !== undefined && (await isSame(join(folder, present), files))) return false;
  const next = `..${stamp}`;
  for (const { path, content, mode } of files) {
    const target = join(folder, next, path);
    await mkdir(dirname(target), { recursive: true, mode: 0o755 });
    await writeFile(target, content, { mode });
    await chmod(target, mode); // whatever the mask of this process says
  }
  await mkdir(join(folder, next), { recursive: true, mode: 0o755 });
  await rm(join(folder, "..data_tmp"), { force: true }); // of a kubelet that was killed just then
  await symlink(next, join(folder, "..data_tmp"));
  await rename(join(folder, "..data_tmp"), join(folder, "..data"));
  const tops = new Set(files.map(({ path }) => path.split("/")[0] ?? ""));
  for (const top of tops) await symlink(`..data/${top}`, join(folder, top)).catch(ifNotThere);
  for (const name of await readdir(folder))
    if (!tops.has(name) && name !== "..data" && name !== next)
      await rm(join(folder, name), { recursive: true, force: true });
  return true;
}

function ifNotThere(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}

async function isSame(folder: string, files: readonly VolumeFile[]): Promise<boolean> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => undefined); // removed by somebody
  if (names?.filter((entry) => entry.isFile()).length !== files.length) return false;
  for (const { path, content } of files) {
    const present = await readFile(join(folder, path)).catch(() => undefined); // one that is not there differs
    if (!present?.equals(content)) return false;
  }
  return true;
}
