// Logs that do not grow for ever. A log that has become long is copied beside itself, as `LOG.1`, and emptied; older copies are `LOG.2`
// and so on, the oldest goes. It is not renamed: whoever writes to it, and be it Node's own last words, goes on writing to it.

import { closeSync, copyFileSync, fstatSync, ftruncateSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { hasCode } from "#base/errors.ts";
import { writeToStderr } from "#base/host/stderr.ts";

/** With its copies a log takes 40 MiB. It takes some 5 ms to copy one of this length. */
const limitBytes = 8 * 1024 * 1024;
export const keptCopies = 4;
/** A log that could not be copied is tried again when it has grown by so much. */
const againBytes = 1024 * 1024;

export const copyOf = (file: string, age: number): string => `${file}.${age}`;

/** Writes lines to standard error, which is that file: `knarr up` has opened it for its cluster. */
export function logWriter(file: string, limit: number = limitBytes): (line: string) => void {
  const standardError = 2;
  let bytes = fstatSync(standardError).size;
  let next = limit;
  return (line) => {
    writeToStderr(line);
    bytes += Buffer.byteLength(line) + 1;
    if (bytes < next) return;
    // Others may have written to it, and on a full disk not all was written.
    bytes = fstatSync(standardError).size;
    if (bytes < limit) return;
    try {
      rotate(file, standardError);
      bytes = 0;
      next = limit;
    } catch {
      next = bytes + againBytes; // there is nobody to tell; on a full disk it cannot grow either
    }
  };
}

/** Empties a log that another program writes to, if it is long. A line may be lost that is written at this moment. */
export function rotateIfLong(file: string, limit: number = limitBytes): void {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) < limit) return;
  const descriptor = openSync(file, "r+");
  try {
    rotate(file, descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function rotate(file: string, descriptor: number): void {
  if (isAt(file, descriptor)) {
    for (let age = keptCopies - 1; age > 0; age--) moveIfThere(copyOf(file, age), copyOf(file, age + 1));
    const unfinished = `${file}.tmp`;
    try {
      copyFileSync(file, unfinished);
      renameSync(unfinished, copyOf(file, 1));
    } catch (error) {
      rmSync(unfinished, { force: true });
      throw error;
    }
  }
  ftruncateSync(descriptor);
}

/** Whether what is open is what has that name; a log that was removed is read by nobody. */
function isAt(file: string, descriptor: number): boolean {
  const [named, opened] = [statSync(file, { throwIfNoEntry: false }), fstatSync(descriptor)];
  return named?.ino === opened.ino && named.dev === opened.dev;
}

function moveIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
  }
}
