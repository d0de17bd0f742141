// One file of a log, read piece by piece; one that is compressed is read as what it was before.
import { type FileHandle, open } from "node:fs/promises";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { hasCode } from "#base/errors.ts";

export interface OpenLogFile {
  /** The inode, while it has a meaning. */
  readonly inode: number | undefined;
  /** The next bytes; none at the end, which may be further away the next time. */
  read(mostBytes: number): Promise<Uint8Array>;
  /** Whether it is shorter now than what was read of it. */
  isTruncated(): Promise<boolean>;
  close(): Promise<void>;
}

/** Undefined if there is no such file. */
export async function openLogFile(
  path: string,
  isCompressed: boolean,
  offset: number,
): Promise<OpenLogFile | undefined> {
  let handle: FileHandle;
  try {
    handle = await open(path, "r");
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
  return isCompressed ? compressedFile(handle, offset) : plainFile(handle, offset, (await handle.stat()).ino);
}

function plainFile(handle: FileHandle, offset: number, inode: number): OpenLogFile {
  let at = offset;
  return {
    inode,
    async read(mostBytes) {
      const { bytesRead, buffer } = await handle.read(new Uint8Array(mostBytes), 0, mostBytes, at);
      at += bytesRead;
      return buffer.subarray(0, bytesRead);
    },
    isTruncated: async () => (await handle.stat()).size < at,
    close: () => handle.close(),
  };
}

/** Whoever opened it reads it to its end, also if it is removed meanwhile. */
function compressedFile(handle: FileHandle, offset: number): OpenLogFile {
  const file = handle.createReadStream();
  const stream: Readable = file.pipe(createGunzip());
  file.on("error", (error) => stream.destroy(error));
  const pieces = stream[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  let left = offset;
  return {
    inode: undefined,
    async read() {
      for (;;) {
        const { done, value } = await pieces.next();
        if (done) return new Uint8Array();
        const skipped = Math.min(left, value.length);
        left -= skipped;
        if (skipped < value.length) return value.subarray(skipped);
      }
    },
    isTruncated: async () => false,
    async close() {
      file.destroy();
      stream.destroy();
    },
  };
}
