// An archive as a person has it: a file or a pipe, compressed or not.
import { createReadStream, createWriteStream } from "node:fs";
import { open, rm } from "node:fs/promises";
import { type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createZstdDecompress } from "node:zlib";

const decompressors: readonly {
  readonly name: string;
  readonly magic: readonly number[];
  readonly make?: () => Transform;
}[] = [
  { name: "gzip", magic: [0x1f, 0x8b], make: createGunzip },
  { name: "zstd", magic: [0x28, 0xb5, 0x2f, 0xfd], make: createZstdDecompress },
  { name: "xz", magic: [0xfd, 0x37, 0x7a, 0x58, 0x5a] },
  { name: "bzip2", magic: [0x42, 0x5a, 0x68] },
];
const magicBytes = 6;

/** A file that can be read anywhere in it. */
export interface PlainArchive extends AsyncDisposable {
  readonly path: string;
}

/** The file itself if it is not compressed, else a copy at `copy`, which is removed at the end. `-` is standard input. */
export async function plainArchive(input: string, copy: string, signal: AbortSignal): Promise<PlainArchive> {
  if (input !== "-" && !compressionOf(await firstBytes(input)))
    return { path: input, [Symbol.asyncDispose]: async () => undefined };
  const source = input === "-" ? process.stdin : createReadStream(input);
  const remove = () => rm(copy, { force: true });
  try {
    await decompress(source, copy, input === "-" ? "standard input" : input, signal);
  } catch (error) {
    await remove();
    throw error;
  }
  return { path: copy, [Symbol.asyncDispose]: remove };
}

const compressionOf = (bytes: Buffer) =>
  decompressors.find(({ magic }) => bytes.subarray(0, magic.length).equals(Buffer.from(magic)));

async function firstBytes(path: string): Promise<Buffer> {
  try {
    await using file = await open(path);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(magicBytes), 0, magicBytes, 0);
    return buffer.subarray(0, bytesRead);
  } catch (cause) {
    throw new Error(`read ${path}`, { cause });
  }
}

async function decompress(source: Readable, target: string, what: string, signal: AbortSignal): Promise<void> {
  const first = await firstChunk(source);
  const compression = compressionOf(first);
  if (compression && !compression.make)
    throw new Error(`${what} is compressed by ${compression.name}; decompress it first (${compression.name} -d)`);
  try {
    await pipeline(
      rest(first, source),
      compression?.make?.() ?? new Transform({ transform: (chunk, _, done) => done(null, chunk) }),
      createWriteStream(target, { mode: 0o600 }),
      { signal },
    );
  } catch (cause) {
    signal.throwIfAborted();
    throw new Error(`read ${what}${compression ? ` (${compression.name})` : ""}`, { cause });
  }
}

/** At least as many bytes as tell how it is compressed, unless there are less. */
async function firstChunk(source: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const iterator: AsyncIterator<Buffer> = source.iterator({ destroyOnReturn: false });
  for (let length = 0; length < magicBytes; ) {
    const next = await iterator.next();
    if (next.done) break;
    chunks.push(next.value);
    length += next.value.length;
  }
  await iterator.return?.();
  return Buffer.concat(chunks);
}

async function* rest(first: Buffer, source: Readable): AsyncGenerator<Buffer> {
  yield first;
  for await (const chunk of source) yield chunk as Buffer;
}
