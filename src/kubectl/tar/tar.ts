// What a tar archive holds (POSIX ustar, with the long names of GNU and of pax).

/** The archive is not one, or is cut off. */
export class TarError extends Error {
  override readonly name = "TarError";
}

export type TarType = "file" | "directory" | "symlink" | "hardlink" | "other";

export interface TarHeader {
  readonly name: string;
  readonly type: TarType;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  /** Seconds since 1970. */
  readonly mtime: number;
  /** What a link leads to. */
  readonly linkName: string;
}

export const blockSize = 512;

/** How many zeros follow content of this size. */
export const paddingOf = (size: number): number => (blockSize - (size % blockSize)) % blockSize;

/** The sum of all bytes of a header, with spaces where the sum itself stands. */
export function checksum(header: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < blockSize; i++) sum += i >= 148 && i < 156 ? 32 : (header[i] ?? 0);
  return sum;
}
