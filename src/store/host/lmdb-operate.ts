// What an administrator does with an embedded store: snapshot, restore, check, shrink. All work on copies and put them in
// place as a whole, so that nothing is lost when one of them is interrupted. A store in use is left to the process that holds it,
// which is asked for figures and copies.

import { chmodSync, constants, copyFileSync, existsSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { breathe } from "#base/breathe.ts";
import { systemClock } from "#base/clock.ts";
import { hasCode } from "#base/errors.ts";
import { FolderHeld, type FolderLock, lockFolder } from "#base/host/folder-lock.ts";
import { makeFolder } from "#base/host/make-folder.ts";
import { Damaged, Unavailable } from "../engine.ts";
import { type FileReport, verifyFile } from "./lmdb-file.ts";
import { holderIn, type StoreFigures, type StoreHolder } from "./lmdb-holder.ts";
import { type Databases, dataFileName, load, markerFileName, openFile, readFormat } from "./lmdb-open.ts";
import { decodeLog, decodeRevision, encodeRevision } from "./lmdb-records.ts";
import { measure } from "./lmdb-upkeep.ts";
import { syncFile, syncFolder, writeDurably } from "./write-durably.ts";

export interface CheckReport extends StoreFigures {
  readonly file: FileReport;
  readonly records: number;
}

type Progress = (done: number, total: number) => void;
const unseen: Progress = () => undefined;

/** Who has just taken a store, or is about to leave it, does not answer yet, or any more: he is asked again for so long. */
const holderPatienceMs = 10_000;
const holderRetryMs = 100;

/** The data file of a folder, or the file itself if it is one. */
function dataFile(path: string): string {
  if (!existsSync(path)) throw new Error(`${path} does not exist`);
  if (!statSync(path).isDirectory()) return path;
  const file = join(path, dataFileName);
  if (!existsSync(file)) throw new Error(`${path} holds no store: there is no ${dataFileName} in it`);
  return file;
}

/** Figures of a store that may be in use. */
export async function figuresOf(path: string): Promise<StoreFigures> {
  return await visit(path, { free: (file) => reading(file, figures), held: (holder) => holder.figures() });
}

/** Writes a consistent copy of a store, which may be in use, to a new file. */
export async function snapshotStore(path: string, target: string, onProgress = unseen): Promise<CheckReport> {
  if (existsSync(target)) throw new Error(`${target} exists; choose another name, or delete it first`);
  const draft = `${target}.new`;
  try {
    await visit(path, {
      free: (file) => copyAside(file, draft),
      held: (holder) => holder.snapshot(resolve(draft)),
    });
    const report = await checkFile(draft, onProgress);
    renameSync(draft, target);
    syncFolder(dirname(target));
    return report;
  } finally {
    discard(draft);
  }
}

/** Puts a snapshot into a folder that holds no store. */
export async function restoreStore(snapshot: string, folder: string, onProgress = unseen): Promise<CheckReport> {
  const source = dataFile(snapshot);
  const report = await checkFile(source, onProgress);
  makeFolder(folder);
  const lock = lockFolder(folder, "store.lock");
  const target = join(folder, dataFileName);
  try {
    if (existsSync(target))
      throw new Error(`${folder} holds a store already; restore into another folder, or move this one away`);
    copyFileSync(source, `${target}.new`, constants.COPYFILE_FICLONE);
    chmodSync(`${target}.new`, 0o600);
    syncFile(`${target}.new`);
    const marker = await reading(`${target}.new`, async (databases) => readFormat(databases));
    renameSync(`${target}.new`, target);
    writeDurably(join(folder, markerFileName), marker);
    return report;
  } finally {
    discard(`${target}.new`);
    lock.release();
  }
}

/** Rewrites a store that is not in use without its free room. */
export async function shrinkStore(folder: string, onProgress = unseen): Promise<{ before: number; after: number }> {
  const file = dataFile(folder);
  const lock = lockFolder(folder, "store.lock");
  const draft = `${file}.new`;
  try {
    const before = statSync(file).size;
    await verifyFile(file);
    await copyAside(file, draft);
    await checkFile(draft, onProgress);
    renameSync(draft, file);
    rmSync(`${file}-lock`, { force: true });
    syncFolder(folder);
    return { before, after: statSync(file).size };
  } finally {
    discard(draft);
    lock.release();
  }
}

/** Looks at every page and every record of a store. One in use is copied first, and the copy is looked at. */
export async function checkStore(path: string, onProgress = unseen): Promise<CheckReport> {
  return await visit(path, {
    free: (file) => checkFile(file, onProgress),
    async held(holder, folder) {
      const copy = resolve(folder, `store.check-${process.pid}`);
      try {
        await holder.snapshot(copy);
        return await checkFile(copy, onProgress);
      } finally {
        discard(copy);
      }
    },
  });
}

interface Visit<T> {
  /** Nobody holds the store, and nobody will meanwhile; or it is a snapshot, which nobody can. */
  free(file: string): Promise<T>;
  held(holder: StoreHolder, folder: string): Promise<T>;
}

async function visit<T>(path: string, { free, held }: Visit<T>): Promise<T> {
  const file = dataFile(path);
  if (basename(file) !== dataFileName) return await free(file);
  const folder = dirname(file);
  for (const until = systemClock.elapsed() + holderPatienceMs; ; ) {
    const lock = lockIfFree(folder);
    if (!(lock instanceof FolderHeld))
      try {
        return await free(file);
      } finally {
        lock?.release();
      }
    try {
      return await held(holderIn(folder), folder);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      if (systemClock.elapsed() >= until)
        throw new Error(`${lock.message} (it was asked, but did not answer)`, { cause: error });
    }
    await systemClock.sleep(holderRetryMs, never);
  }
}

const never = new AbortController().signal;

/** Undefined if the folder cannot be written: then nobody can hold it. */
function lockIfFree(folder: string): FolderLock | FolderHeld | undefined {
  try {
    return lockFolder(folder, "store.lock");
  } catch (error) {
    if (error instanceof FolderHeld) return error;
    if (hasCode(error, "EROFS", "EACCES")) return undefined;
    throw error;
  }
}

/** Throws Damaged unless all of the file can be trusted: pages, checksums, and that index and log agree. */
async function checkFile(path: string, onProgress: Progress): Promise<CheckReport> {
  const file = await verifyFile(path);
  return await reading(path, async (databases) => {
    const { index, checkpoint, compacted, swept } = await load(databases);
    if (swept > compacted || compacted > checkpoint)
      throw new Damaged(
        `store file ${path} is damaged (history removed up to ${swept}, forgotten up to ${compacted}, indexed up to ${checkpoint}); restore it from a snapshot`,
      );
    const { log } = databases;
    const total = file.entries.log ?? 0;
    const pause = breathe();
    let records = 0;
    for (let last = 0; ; ) {
      let read = 0;
      for (const { key, value } of log.getRange({ start: encodeRevision(last + 1), limit: 200 })) {
        last = decodeRevision(key);
        explainDamage(path, () => decodeLog(value, last));
        read++;
      }
      if (read === 0) break;
      records += read;
      if (pause.due()) {
        onProgress(records, total);
        await pause.now();
      }
    }
    for (const [key, { modified }] of index.range()) {
      const bytes = log.getBinary(encodeRevision(modified));
      const record = bytes && explainDamage(path, () => decodeLog(bytes, modified));
      if (record?.key !== key || record.type !== "put")
        throw new Damaged(`store file ${path} is damaged (the value of ${key} is missing); restore it from a snapshot`);
      if (pause.due()) await pause.now();
    }
    return { ...(await figures(databases)), file, records };
  });
}

function explainDamage<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new Damaged(`store file ${path} is damaged; restore it from a snapshot`, { cause });
  }
}

async function figures(databases: Databases): Promise<StoreFigures> {
  const { newest, compacted, index } = await load(databases);
  return { revision: newest, compacted, keys: index.size, ...measure(databases) };
}

async function copyAside(file: string, target: string): Promise<void> {
  await reading(file, ({ root }) => root.backup(target, true));
  chmodSync(target, 0o600);
  syncFile(target);
}

async function reading<T>(file: string, work: (databases: Databases) => Promise<T>): Promise<T> {
  const databases = openFile(file, { readOnly: true });
  try {
    return await work(databases);
  } finally {
    await databases.root.close();
  }
}

function discard(file: string): void {
  for (const path of [file, `${file}-lock`]) rmSync(path, { force: true });
}
