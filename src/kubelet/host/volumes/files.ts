import { lstat, open } from "node:fs/promises";
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

/** What is in a file, but no more than so many bytes. */
export async function beginningOf(path: string, most: number): Promise<Buffer> {
  const handle = await open(path, "r");
  try {
    const bytes = Buffer.alloc(most);
    let length = 0;
    for (let read = 1; read > 0 && length < most; length += read)
      read = (await handle.read(bytes, length, most - length)).bytesRead;
    return bytes.subarray(0, length);
  } finally {
    await handle.close();
  }
}
