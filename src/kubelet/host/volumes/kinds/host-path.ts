// Paths of this machine, named by a pod or by a persistent volume. Their files keep their owners.
// Upstream: pkg/volume/hostpath/host_path.go.
import { constants, open, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { own } from "#base/collections.ts";
import { InputMissing } from "../../../inputs/sources.ts";
import { exists } from "../files.ts";
import { entryOf } from "../path-handles.ts";
import { openBelow } from "../sub-path.ts";
import type { VolumeKind, VolumeSpec } from "../volume-kind.ts";

export const hostPath: VolumeKind = {
  folderName: "kubernetes.io~host-path",
  keptIn: "disk",
  supports: (spec) => sourceOf(spec) !== undefined,
  async provide(request) {
    const { path = "", type } = sourceOf(request) ?? {};
    await ensureHostPath(path, type);
    return path;
  },
};

const sourceOf = ({ volume, persistentVolume }: VolumeSpec) => volume.hostPath ?? persistentVolume?.spec.hostPath;

const checks: Readonly<Record<string, (found: Awaited<ReturnType<typeof stat>>) => boolean>> = {
  Directory: (found) => found.isDirectory(),
  DirectoryOrCreate: (found) => found.isDirectory(),
  File: (found) => found.isFile(),
  FileOrCreate: (found) => found.isFile(),
  Socket: (found) => found.isSocket(),
  CharDevice: (found) => found.isCharacterDevice(),
  BlockDevice: (found) => found.isBlockDevice(),
};

const kindsOfFile: Readonly<Record<string, string>> = {
  Directory: "directory",
  DirectoryOrCreate: "directory",
  File: "file",
  FileOrCreate: "file",
  Socket: "socket file",
  CharDevice: "character device",
  BlockDevice: "block device",
};

/** Makes the path if its type says so, and checks that it is of that type. */
export async function ensureHostPath(path: string, type = ""): Promise<void> {
  const failed = () =>
    new InputMissing(`hostPath type check failed: ${path} is not a ${own(kindsOfFile, type) ?? type}`);
  if (!(await exists(path))) {
    if (type === "FileOrCreate") await makeFile(path);
    else if (type === "" || type === "DirectoryOrCreate") await (await openBelow("/", path, 0o755)).close();
    else throw failed();
  }
  const check = own(checks, type);
  if (check && !check(await stat(path))) throw failed();
}

/** A container may be able to write the folder above: a link that it puts there meanwhile is not followed. */
async function makeFile(path: string): Promise<void> {
  const { O_WRONLY, O_CREAT, O_NOFOLLOW } = constants;
  const folder = await openBelow("/", dirname(path));
  try {
    const file = await open(entryOf(folder, basename(path)), O_WRONLY | O_CREAT | O_NOFOLLOW, 0o644);
    await file.chmod(0o644).finally(() => file.close()); // regardless of this process's umask
  } finally {
    await folder.close();
  }
}
