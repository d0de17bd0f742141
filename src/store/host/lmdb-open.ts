// Opens the file of an embedded store, or makes it, and never the one in place of the other.
import { chmodSync, existsSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Database, open, type RootDatabase } from "lmdb";
import { breathe } from "#base/breathe.ts";
import { type FolderLock, lockFolder } from "#base/host/folder-lock.ts";
import { makeFolder } from "#base/host/make-folder.ts";
import type { Random } from "#base/random.ts";
import { SortedMap } from "#base/sorted-map.ts";
import { Damaged, type Revision } from "../engine.ts";
import { verifyFile } from "./lmdb-file.ts";
import {
  afterwards,
  decodeIndexed,
  decodeLog,
  decodeRevision,
  encodeRevision,
  type IndexEntry,
} from "./lmdb-records.ts";
import { syncFolder, writeDurably } from "./write-durably.ts";

export const dataFileName = "store.lmdb";
/** Says that the folder holds a store, so that a missing data file is a loss and not a beginning. */
export const markerFileName = "store.json";
const format = "knarr store 1";
/** Objects have some kilobytes: pages of four would hold one or two of them, and be half empty. */
const pageBytes = 8_192;

/** `append` fills pages to the end, where a put in the middle would leave them half empty; lmdb knows it, its types do not. */
interface Table extends Omit<Database<Buffer, Buffer>, "put"> {
  put(key: Buffer, value: Buffer, options?: { readonly append: true }): Promise<boolean>;
}

export interface Databases {
  readonly path: string;
  readonly root: RootDatabase<Buffer, Buffer>;
  /** revision → change, with the value. Every write is one append here. */
  readonly log: Table;
  /** key → where its value is; behind the log, and brought up from it when the store is opened. */
  readonly keys: Table;
  /** A few numbers and the format, by name. */
  readonly meta: Table;
}

/** What is known once the file is open. */
export interface OpenedFile {
  readonly index: SortedMap<IndexEntry>;
  /** Keys whose entry in `keys` is behind. */
  readonly dirty: Map<string, IndexEntry | undefined>;
  readonly newest: Revision;
  readonly compacted: Revision;
  /** History up to here has been removed from the file. */
  readonly swept: Revision;
  /** `keys` knows everything up to here. */
  readonly checkpoint: Revision;
}

export interface OpenedFolder {
  readonly databases: Databases;
  readonly lock: FolderLock;
}

/** Locks the folder and opens the store in it; makes one if there never was one. */
export async function openFolder(folder: string, random: Random): Promise<OpenedFolder> {
  const lock = enterFolder(folder);
  try {
    const path = join(folder, dataFileName);
    rmSync(`${path}.new`, { force: true });
    rmSync(`${path}.new-lock`, { force: true });
    if (!existsSync(path)) {
      if (existsSync(join(folder, markerFileName)))
        throw new Damaged(
          `store ${folder} has lost its data file ${path}; restore it from a snapshot, or move the folder away to start afresh`,
        );
      await createFile(path, random);
    }
    await verifyFile(path);
    const databases = openFile(path, {});
    if (!existsSync(join(folder, markerFileName))) writeDurably(join(folder, markerFileName), readFormat(databases));
    return { databases, lock };
  } catch (error) {
    lock.release();
    throw error;
  }
}

function enterFolder(folder: string): FolderLock {
  try {
    makeFolder(folder);
    return lockFolder(folder, "store.lock");
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
    if (code === "EROFS" || code === "EACCES" || code === "EPERM" || code === "ENOENT")
      throw new Error(`store folder ${folder} cannot be written; make it writable, or use another folder`, { cause });
    if (code === "ENOSPC" || code === "EDQUOT")
      throw new Error(`store folder ${folder} is on a full disk; free some space there`, { cause });
    throw cause;
  }
}

/** Made aside and renamed when it is whole, so that a crash leaves no half-made store. */
async function createFile(path: string, random: Random): Promise<void> {
  const draft = `${path}.new`;
  const root = open<Buffer, Buffer>({ path: draft, noSubdir: true, pageSize: pageBytes, ...encoding });
  chmodSync(draft, 0o600); // secrets will be in it
  root.openDB({ name: "log", ...encoding });
  root.openDB({ name: "keys", ...encoding });
  const meta = root.openDB<Buffer, Buffer>({ name: "meta", ...encoding });
  await meta.put(Buffer.from("format"), Buffer.from(JSON.stringify({ format: format, id: random.uuid() })));
  await root.flushed;
  await root.close();
  renameSync(draft, path);
  rmSync(`${draft}-lock`, { force: true });
  syncFolder(dirname(path));
}

const encoding = { encoding: "binary", keyEncoding: "binary" } as const;

/** Opens a file that has been verified. */
export function openFile(path: string, options: { readonly readOnly?: boolean }): Databases {
  const { size } = statSync(path);
  let root: RootDatabase<Buffer, Buffer>;
  try {
    // A map somewhat larger than the file spares it from being enlarged during the first writes.
    const mapSize = Math.max(2 ** 31, 2 ** Math.ceil(Math.log2(size * 1.25)));
    root = open<Buffer, Buffer>({ path, noSubdir: true, maxDbs: 4, mapSize, ...options, ...encoding });
  } catch (cause) {
    throw new Damaged(`store ${path} cannot be opened; restore it from a snapshot`, { cause });
  }
  const table = (name: string): Table => {
    const found = root.openDB<Buffer, Buffer>(name, { ...encoding, ...noCreate }) as Table | undefined;
    if (!found) throw new Damaged(`${path} is an LMDB file, but not one of a knarr store: it has no table "${name}"`);
    return found;
  };
  try {
    const databases = { path, root, log: table("log"), keys: table("keys"), meta: table("meta") };
    readFormat(databases);
    return databases;
  } catch (error) {
    void root.close();
    throw error;
  }
}

/** Known to lmdb, not to its types. */
const noCreate: object = { create: false };

/** The format and identity of the store, as they are written in the marker file too. */
export function readFormat({ meta, path }: Databases): string {
  const text = meta.get(Buffer.from("format"))?.toString() ?? "";
  if (!text.includes(`"${format}"`))
    throw new Damaged(`${path} is an LMDB file, but not one of a knarr store that this version can read (${text})`);
  return text;
}

/** Reads the index, and brings it up to date from the log. */
export async function load(databases: Databases): Promise<OpenedFile> {
  const { keys, log, path } = databases;
  try {
    const index = new SortedMap<IndexEntry>();
    const pause = breathe();
    let last: Buffer | undefined;
    for (;;) {
      let read = 0;
      for (const { key, value } of keys.getRange({
        ...(last && { start: last, exclusiveStart: true }),
        limit: 1_000,
      })) {
        index.set(key.toString(), decodeIndexed(key, value));
        last = key;
        read++;
      }
      if (read === 0) break;
      if (pause.due()) await pause.now();
    }

    if (readNumber(databases, "adopting") !== undefined)
      throw new Damaged("another store was being copied into it, and did not arrive as a whole");
    const checkpoint = readNumber(databases, "checkpoint") ?? 1;
    const dirty = new Map<string, IndexEntry | undefined>();
    let newest = checkpoint;
    for (;;) {
      let read = 0;
      for (const { key, value } of log.getRange({ start: encodeRevision(newest + 1), limit: 200 })) {
        const record = decodeLog(value, decodeRevision(key));
        newest = record.revision;
        const indexed = afterwards(record);
        if (indexed) index.set(record.key, indexed);
        else index.delete(record.key);
        dirty.set(record.key, indexed);
        read++;
      }
      if (read === 0) break;
      if (pause.due()) await pause.now();
    }
    const compacted = readNumber(databases, "compacted") ?? 1;
    return { index, dirty, newest, checkpoint, compacted, swept: readNumber(databases, "swept") ?? 1 };
  } catch (cause) {
    throw new Damaged(`store ${path} is damaged; restore it from a snapshot`, { cause });
  }
}

/** `adopting` is there only while another store is being copied into this one. */
export type NumberName = "checkpoint" | "compacted" | "swept" | "adopting";

function readNumber({ meta }: Databases, name: NumberName): number | undefined {
  const bytes = meta.get(Buffer.from(name));
  return bytes && decodeIndexed(Buffer.from(name), bytes).created;
}
