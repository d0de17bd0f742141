import { blockSize, checksum, paddingOf, TarError, type TarHeader } from "./tar.ts";

const typeFlags = { file: "0", hardlink: "1", symlink: "2", directory: "5", other: "0" } as const;
const largestOctal = 8 ** 11;
const encoder = new TextEncoder();

/**
 * The blocks before an entry's content. Names that do not fit are said in an entry before it, as GNU does: that is what the tar of
 * BusyBox understands as well.
 */
export function tarHeader(header: TarHeader): Uint8Array {
  const { name, linkName } = header;
  const split = splitName(name);
  const parts = [
    ...(encoder.encode(linkName).length > 100 ? longText("K", linkName) : []),
    ...(split ? [] : longText("L", name)),
    block(header, typeFlags[header.type], split ?? ["", name]),
  ];
  return Buffer.concat(parts);
}

/** What ends an archive. */
export const tarEnd = (): Uint8Array => new Uint8Array(2 * blockSize);

function longText(flag: "K" | "L", text: string): readonly Uint8Array[] {
  const bytes = encoder.encode(`${text}\0`);
  const header = { name: "", type: "file", mode: 0o644, uid: 0, gid: 0, size: bytes.length, mtime: 0, linkName: "" };
  return [block(header as TarHeader, flag, ["", "././@LongLink"]), bytes, new Uint8Array(paddingOf(bytes.length))];
}

/** As prefix and name of a ustar header; undefined if it fits into neither. */
function splitName(name: string): readonly [prefix: string, name: string] | undefined {
  if (encoder.encode(name).length <= 100) return ["", name];
  for (let at = name.indexOf("/"); at > 0; at = name.indexOf("/", at + 1)) {
    const [prefix, rest] = [name.slice(0, at), name.slice(at + 1)];
    if (rest !== "" && encoder.encode(prefix).length <= 155 && encoder.encode(rest).length <= 100)
      return [prefix, rest];
  }
  return undefined;
}

function block(header: TarHeader, flag: string, [prefix, name]: readonly [string, string]): Uint8Array {
  const bytes = new Uint8Array(blockSize);
  const text = (at: number, length: number, value: string) => {
    bytes.set(encoder.encode(value).subarray(0, length), at);
  };
  const octal = (at: number, length: number, value: number) => {
    text(at, length, value.toString(8).padStart(length - 1, "0"));
  };
  text(0, 100, name);
  octal(100, 8, header.mode & 0o7777);
  octal(108, 8, Math.min(header.uid, 8 ** 7 - 1));
  octal(116, 8, Math.min(header.gid, 8 ** 7 - 1));
  if (header.size >= largestOctal) throw new TarError(`${header.name}: ${header.size} bytes are too many for tar`);
  octal(124, 12, header.size);
  octal(136, 12, Math.max(0, Math.trunc(header.mtime)));
  text(156, 1, flag);
  text(157, 100, header.linkName);
  text(257, 8, "ustar\x0000");
  text(345, 155, prefix);
  text(148, 8, `${checksum(bytes).toString(8).padStart(6, "0")}\0 `);
  return bytes;
}
