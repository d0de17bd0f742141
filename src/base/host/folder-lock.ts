// One process per folder. Node has no file locks, so a file names the holder: `<name>.<number>`, the highest number counts.
// A number is taken by creating its file, which only one process can do; a dead holder is followed by the next number.
// So no two processes can both take over from a dead one, whatever the order of their steps.
import { readdirSync, readFileSync, readlinkSync, statSync, truncateSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface FolderLock {
  release(): void;
}

/** Another process holds the folder; the message names it. */
export class FolderHeld extends Error {}

interface Holder {
  readonly pid: number;
  /** When the process started, for the number may have been given to another one since. */
  readonly started: string;
  /** Where the number means something: the machine's boot and the namespace of process numbers. */
  readonly where: string;
}

/** Throws FolderHeld if there is a holder; `what` is what the folder is, for that error. */
export function lockFolder(folder: string, name: string, what = "store"): FolderLock {
  for (;;) {
    const numbers = lockNumbers(folder, name);
    const highest = numbers.at(-1) ?? 0;
    if (highest > 0) refuseIfHeld(`${what} ${folder}`, join(folder, `${name}.${highest}`));
    const own = highest + 1;
    const file = join(folder, `${name}.${own}`);
    try {
      writeFileSync(file, JSON.stringify(self()), { flag: "wx", mode: 0o600 });
    } catch (error) {
      if (codeOf(error) === "EEXIST") continue;
      throw error;
    }
    const after = lockNumbers(folder, name);
    if ((after.at(-1) ?? 0) > own) {
      removeQuietly(file);
      continue;
    }
    for (const old of after) if (old < own) removeQuietly(join(folder, `${name}.${old}`));
    // Emptied, not removed: the number must not be taken again by one who looked before we came.
    return { release: () => emptyQuietly(file) };
  }
}

/** The process that holds a folder now: never another that got its number. */
export interface FolderHolder {
  readonly pid: number;
  /** When it took the folder, in milliseconds since 1970. */
  readonly since: number;
  /** Whether it has not ended yet; it may have given the folder back. */
  isAlive(): boolean;
}

export function holderOf(folder: string, name: string): FolderHolder | undefined {
  const highest = lockNumbers(folder, name).at(-1);
  if (highest === undefined) return undefined;
  const file = join(folder, `${name}.${highest}`);
  const holder = readHolder(file);
  if (!holder || !isAlive(holder)) return undefined;
  return { pid: holder.pid, since: statSync(file).mtimeMs, isAlive: () => isAlive(holder) };
}

const isAlive = ({ pid, started, where }: Holder): boolean => where === whereabouts() && startOf(pid) === started;

function refuseIfHeld(what: string, file: string): void {
  const holder = readHolder(file);
  if (!holder) return;
  const here = self();
  if (holder.where !== here.where && holder.where.split(" ")[0] === here.where.split(" ")[0])
    throw new FolderHeld(
      `${what} is held by process ${holder.pid} of another container; stop it, or delete ${file} if it is gone`,
    );
  if (isAlive(holder))
    throw new FolderHeld(`${what} is held by process ${holder.pid}; stop it first, or use another folder`);
}

function readHolder(file: string): Holder | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
  if (text === "") return undefined;
  try {
    const { pid, started, where } = JSON.parse(text) as Partial<Holder>;
    if (typeof pid === "number" && typeof started === "string" && typeof where === "string")
      return { pid, started, where };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  // Half a file is left by one who died while writing it, or is being written: both are over in a moment, or are garbage.
  return undefined;
}

function lockNumbers(folder: string, name: string): number[] {
  return readdirSync(folder)
    .filter((file) => file.startsWith(`${name}.`) && /^[0-9]+$/.test(file.slice(name.length + 1)))
    .map((file) => Number(file.slice(name.length + 1)))
    .toSorted((a, b) => a - b);
}

function self(): Holder {
  return { pid: process.pid, started: startOf(process.pid) ?? "", where: whereabouts() };
}

/** Something that differs between two processes with one number; undefined if there is no such process. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const [state, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return state === "Z" || state === "X" ? undefined : rest[18];
  } catch {
    // No /proc, as on macOS, or no such process: the signal that does nothing tells.
    try {
      process.kill(pid, 0);
      return "";
    } catch (error) {
      return codeOf(error) === "EPERM" ? "" : undefined;
    }
  }
}

function whereabouts(): string {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
    return `${boot} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return ""; // not Linux: process numbers mean the same everywhere on the machine
  }
}

function removeQuietly(file: string): void {
  try {
    unlinkSync(file);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

function emptyQuietly(file: string): void {
  try {
    truncateSync(file);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error; // the folder is gone, and the lock with it
  }
}

const codeOf = (error: unknown) => (error instanceof Error && "code" in error ? error.code : undefined);
