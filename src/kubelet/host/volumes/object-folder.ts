// A folder whose files change atomically, as upstream's pkg/volume/util/atomic_writer.go does it and programs that watch such folders
// expect it: files are links into `..data`, which is a link to the folder of the present state, and is replaced by a rename.
import { readdir, readFile, readlink, rename, rm, symlink } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import type { VolumeFile } from "../../inputs/files.ts";
import { makeFolder, writeAs } from "./files.ts";

/** `settle` sets the owner of the new files. It is called before readers see them. */
export async function writeObjectFolder(
  folder: string,
  files: readonly VolumeFile[],
  stamp: string,
  settle: () => Promise<void>,
): Promise<void> {
  for (const { path } of files)
    if (normalize(path) !== path || path.startsWith("/") || path.startsWith("..") || path.split("/").includes(".."))
      throw new Error(`file ${JSON.stringify(path)} would be outside of its volume`);
  await makeFolder(dirname(folder), 0o750);
  await makeFolder(folder, 0o755);
  const present = await readlink(join(folder, "..data")).catch(() => undefined); // there is none at first
  if (present !== undefined && (await isSame(join(folder, present), files))) return;
  const next = `..${stamp}`;
  for (const { path, content, mode, uid } of files) {
    const target = join(folder, next, path);
    await makeFolder(dirname(target), 0o755);
    await writeAs(target, content, mode, uid);
  }
  await makeFolder(join(folder, next), 0o755);
  await settle();
  await rm(join(folder, "..data_tmp"), { force: true }); // of a kubelet that was killed just then
  await symlink(next, join(folder, "..data_tmp"));
  await rename(join(folder, "..data_tmp"), join(folder, "..data"));
  const tops = new Set(files.map(({ path }) => path.split("/")[0] ?? ""));
  for (const top of tops) await symlink(`..data/${top}`, join(folder, top)).catch(ifNotThere);
  for (const name of await readdir(folder))
    if (!tops.has(name) && name !== "..data" && name !== next)
      await rm(join(folder, name), { recursive: true, force: true });
}

function ifNotThere(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}

async function isSame(folder: string, files: readonly VolumeFile[]): Promise<boolean> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => undefined); // a folder that was removed differs
  if (names?.filter((entry) => entry.isFile()).length !== files.length) return false;
  for (const { path, content } of files) {
    const present = await readFile(join(folder, path)).catch(() => undefined); // one that is not there differs
    if (!present?.equals(content)) return false;
  }
  return true;
}
