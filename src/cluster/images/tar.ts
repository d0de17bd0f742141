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
const sizeLimit = 0o77777777777;

/** The same entries give the same bytes: owner root, no time. */
export function tarOf(entries: readonly TarEntry[]): Buffer {
  const parts = entries.flatMap((entry) => {
    const { content = new Uint8Array() } = entry;
    return [tarHead(entry, content.length), content, tarPadding(content.length)];
  });
  return Buffer.concat([...parts, tarEnd]);
}

/** What stands before the content of an entry; for those whose content is too large to be held. */
export function tarHead(entry: TarEntry, size: number): Buffer {
  const { name, link = "" } = entry;
  const isLong = Buffer.byteLength(name) > nameLimit || Buffer.byteLength(link) > nameLimit || size > sizeLimit;
  return Buffer.concat([...(isLong ? paxHead(entry, size) : []), head(entry, size)]);
}

/** What stands after it. */
export const tarPadding = (size: number): Buffer => Buffer.alloc((block - (size % block)) % block);

/** What stands after the last. */
export const tarEnd: Buffer = Buffer.alloc(block * 2);

function paxHead({ name, link }: TarEntry, size: number): readonly Buffer[] {
  const records = Buffer.concat([
    paxRecord("path", name),
    ...(link === undefined ? [] : [paxRecord("linkpath", link)]),
    ...(size > sizeLimit ? [paxRecord("size", String(size))] : []),
  ]);
  return [head({ name: "pax" }, records.length, "x"), records, tarPadding(records.length)];
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
  octal(Math.min(size, sizeLimit), 124, 12);
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
