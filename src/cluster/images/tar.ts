// Tar archives, as image layers and image archives are: the ustar format, with the pax header where a name is too long for it.

export interface TarEntry {
  /** Without a leading slash; a folder ends with one. */
  readonly name: string;
  readonly mode?: number;
  readonly content?: Uint8Array;
  /** Where a symbolic link leads; then there is no content. */
  readonly link?: string;
}

const block = 512;
const nameLimit = 100;

/** The same entries give the same bytes: owner root, no time. */
export function tarOf(entries: readonly TarEntry[]): Buffer {
  const parts: Buffer[] = [];
  for (const entry of entries) {
    const { name, link = "", content = new Uint8Array() } = entry;
    if (Buffer.byteLength(name) > nameLimit || Buffer.byteLength(link) > nameLimit) parts.push(...longNames(entry));
    parts.push(head(entry, content.length), padded(content));
  }
  return Buffer.concat([...parts, Buffer.alloc(block * 2)]);
}

function longNames({ name, link }: TarEntry): readonly Buffer[] {
  const records = Buffer.concat([
    paxRecord("path", name),
    ...(link === undefined ? [] : [paxRecord("linkpath", link)]),
  ]);
  return [head({ name: "pax" }, records.length, "x"), padded(records)];
}

/** `30 path=some/long/name\n`, where the number counts the whole line, itself included. */
function paxRecord(key: string, value: string): Buffer {
  const rest = Buffer.from(` ${key}=${value}\n`);
  let length = rest.length;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}

function head({ name, mode, link }: TarEntry, size: number, type = typeOf(name, link)): Buffer {
  const bytes = Buffer.alloc(block);
  const octal = (value: number, at: number, length: number) =>
    bytes.write(value.toString(8).padStart(length - 1, "0"), at, length - 1, "latin1");
  bytes.write(name, 0, nameLimit);
  octal(mode ?? (type === "5" ? 0o755 : 0o644), 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  bytes.write("        ", 148, "latin1"); // the sum is made as if these were blanks
  bytes.write(type, 156, "latin1");
  bytes.write(link ?? "", 157, nameLimit);
  bytes.write("ustar\x0000", 257, "latin1");
  octal(
    bytes.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  bytes[154] = 0;
  return bytes;
}

const typeOf = (name: string, link: string | undefined): string =>
  link !== undefined ? "2" : name.endsWith("/") ? "5" : "0";

const padded = (content: Uint8Array): Buffer =>
  Buffer.concat([content, Buffer.alloc((block - (content.length % block)) % block)]);
