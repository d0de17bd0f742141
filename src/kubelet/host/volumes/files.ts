import { chmod, constants, lstat, mkdir, open } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { hasCode } from "#base/errors.ts";

/** Whether there is anything, even a link to nowhere. */
export async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return false;
    throw error;
  }
}

/** Makes a folder and those above it that are missing, each with this mode, whatever the mask of this process says. */
export async function makeFolder(path: string, mode: number): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode });
  if (first === undefined) return;
  for (let made = resolve(path); made.length >= first.length; made = dirname(made)) await chmod(made, mode);
}

/** Writes a file in its place, with this mode, whatever the mask of this process says. A link there is not followed. */
export async function writeAs(path: string, content: string | Uint8Array, mode: number, uid?: number): Promise<void> {
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
  const handle = await open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode);
  try {
    if (uid !== undefined) await handle.chown(uid, 0);
    await handle.chmod(mode);
    await handle.writeFile(content);
  } finally {
    await handle.close();
  }
}

/** What is in a file, but no more than so many bytes. */
export async function beginningOf(path: string, maxBytes: number): Promise<Buffer> {
  const handle = await open(path, "r");
  try {
    const bytes = Buffer.alloc(maxBytes);
    let length = 0;
    for (let read = 1; read > 0 && length < maxBytes; length += read)
      read = (await handle.read(bytes, length, maxBytes - length)).bytesRead;
    return bytes.subarray(0, length);
  } finally {
    await handle.close();
  }
}
