// Looks at an LMDB file before LMDB does. LMDB trusts what it maps: a flipped bit in a page can make it crash the process,
// loop, or give away pages that are in use, and a bad head can make it go back to an older state without a word. So every
// tree is walked first: each page where it should be, each pointer inside the file, no page used twice, the counts as
// written. The values themselves are covered by the checksums of lmdb-records.ts.
// The format is that of the LMDB inside the lmdb package: data version 2, 64 bit, little-endian.

import { closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { breathe } from "#base/breathe.ts";
import { hasCode } from "#base/errors.ts";
import { Damaged } from "../engine.ts";

export interface FileReport {
  readonly pageSize: number;
  readonly pages: number;
  readonly freePages: number;
  /** Pages that nothing refers to: lost room, not lost data. */
  readonly lostPages: number;
  readonly entries: Readonly<Record<string, number>>;
}

/** Throws Damaged, naming the file and what is wrong with it, unless the file is sound. */
export async function verifyFile(path: string): Promise<FileReport> {
  const fd = openSync(path, "r");
  try {
    const { size } = fstatSync(fd);
    return await new Walk(path, fd, size).run();
  } catch (error) {
    if (error instanceof RangeError)
      throw new Damaged(advice(path, "a page points outside of itself"), { cause: error });
    throw error;
  } finally {
    closeSync(fd);
  }
}

const advice = (path: string, what: string) =>
  `store file ${path} is damaged (${what}); restore it from a snapshot; nothing has been changed`;

const headBytes = 24;
const magic = 0xbeefc0de;
const dataVersion = 2;
const branchFlag = 1;
const leafFlag = 2;
const overflowFlag = 4;
const metaFlag = 8;
const bigDataFlag = 1;
const subTreeFlag = 2;
const integerKeyFlag = 8;
const noPage = 0xffff_ffff_ffff_ffffn;

interface Tree {
  readonly name: string;
  readonly flags: number;
  readonly depth: number;
  readonly branches: number;
  readonly leaves: number;
  readonly overflows: number;
  readonly entries: number;
  readonly root: number | undefined;
}

interface Meta {
  readonly txn: number;
  readonly lastPage: number;
  readonly mapSize: number;
  readonly boot: bigint;
  /** Written before its pages were flushed. */
  readonly isAhead: boolean;
  readonly pageSize: number;
  readonly free: Tree;
  readonly main: Tree;
}

interface Counts {
  branches: number;
  leaves: number;
  overflows: number;
  entries: number;
}

interface Bounds {
  readonly from: Buffer | undefined;
  readonly to: Buffer | undefined;
}

class Walk {
  readonly #path: string;
  readonly #fd: number;
  readonly #size: number;
  readonly #pause = breathe();
  readonly #entries: Record<string, number> = {};
  #pageSize = 4096;
  #lastPage = 0;
  #txn = 0;
  #newestPageTxn = 0;
  #used = new Uint8Array();
  #freePages = 0;

  constructor(path: string, fd: number, size: number) {
    this.#path = path;
    this.#fd = fd;
    this.#size = size;
  }

  async run(): Promise<FileReport> {
    const meta = this.#pickMeta();
    this.#lastPage = meta.lastPage;
    this.#txn = meta.txn;
    this.#used = new Uint8Array(meta.lastPage + 1);
    this.#used[0] = this.#used[1] = 1;

    await this.#tree(meta.main);
    const lists: Buffer[] = [];
    await this.#tree(meta.free, (data) => lists.push(data));
    // Every transaction writes pages, at least those of the free ones; only a compacted copy has none of its own.
    if (this.#newestPageTxn !== meta.txn && meta.txn > 1 && meta.free.root !== undefined)
      this.#wrong(`its head is of transaction ${meta.txn}, its newest page of ${this.#newestPageTxn}`);
    for (const list of lists) this.#free(list);
    const lostPages = this.#used.reduce((sum, use) => sum + (use === 0 ? 1 : 0), 0);
    return {
      pageSize: this.#pageSize,
      pages: meta.lastPage + 1,
      freePages: this.#freePages,
      lostPages,
      entries: this.#entries,
    };
  }

  #wrong(what: string): never {
    throw new Damaged(advice(this.#path, what));
  }

  /** The head that LMDB will go by, after checking that the heads agree with each other. */
  #pickMeta(): Meta {
    if (this.#size === 0) this.#wrong("it is empty");
    const first = this.#read(0, Math.min(this.#size, 4096));
    if (first.length < 4096) this.#wrong(`it has ${this.#size} bytes, less than one page`);
    if (first.readUInt32LE(headBytes) !== magic || first.readUInt16LE(18) !== metaFlag)
      throw new Damaged(`${this.#path} is not a file of a knarr store, nor of LMDB; nothing has been changed`);
    if (first.readUInt32LE(headBytes + 4) !== dataVersion)
      this.#wrong(`it has LMDB data version ${first.readUInt32LE(headBytes + 4)}, not ${dataVersion}`);
    this.#pageSize = first.readUInt32LE(headBytes + 24);
    if (![4096, 8192, 16384, 32768, 65536].includes(this.#pageSize)) this.#wrong(`page size ${this.#pageSize}`);

    const [even, odd] = [this.#meta(0), this.#meta(this.#pageSize)];
    const flushed = this.#meta(this.#pageSize / 2);
    if (even.txn > 1 && (even.txn % 2 !== 0 || odd.txn % 2 !== 1 || Math.abs(even.txn - odd.txn) !== 1))
      this.#wrong(`its two heads are of transactions ${even.txn} and ${odd.txn}`);
    const latest = even.txn > odd.txn ? even : odd;
    this.#agree([even, odd, ...(flushed.txn > 0 ? [flushed] : [])], latest);
    const boot = this.#boot() ?? latest.boot;
    const chosen = latest.isAhead && latest.boot !== boot && flushed.txn > 0 ? flushed : latest;
    if ((chosen.lastPage + 1) * this.#pageSize > this.#size)
      this.#wrong(
        `it has ${this.#size} bytes where ${(chosen.lastPage + 1) * this.#pageSize} were written: it was truncated`,
      );
    if (chosen.mapSize < (chosen.lastPage + 1) * this.#pageSize || chosen.mapSize > 2 ** 46)
      this.#wrong(`map size ${chosen.mapSize}`);
    return chosen;
  }

  /** LMDB may go by any of the heads, and by parts of another: two of one transaction must say the same. */
  #agree(metas: readonly Meta[], latest: Meta): void {
    for (const meta of metas) {
      if (meta.pageSize !== this.#pageSize) this.#wrong(`its heads speak of pages of ${meta.pageSize} bytes`);
      if (meta.txn > latest.txn) this.#wrong("its flushed head is ahead of the newest");
      if (meta.txn !== latest.txn) continue;
      const same =
        meta.lastPage === latest.lastPage && isSameTree(meta.free, latest.free) && isSameTree(meta.main, latest.main);
      if (!same) this.#wrong(`its heads of transaction ${meta.txn} differ`);
    }
  }

  #meta(offset: number): Meta {
    const at = this.#read(offset, headBytes + 144);
    const free = parseTree("free pages", at, headBytes + 24);
    return {
      mapSize: Number(at.readBigUInt64LE(headBytes + 16)),
      free,
      main: parseTree("main", at, headBytes + 72),
      pageSize: at.readUInt32LE(headBytes + 24),
      isAhead: (free.flags & 0x1000) !== 0,
      lastPage: Number(at.readBigUInt64LE(headBytes + 120)),
      txn: Number(at.readBigUInt64LE(headBytes + 128)),
      boot: at.readBigInt64LE(headBytes + 136),
    };
  }

  /** As LMDB reads it: the number that the boot's name begins with. A machine without one is taken not to have restarted. */
  #boot(): bigint | undefined {
    try {
      return BigInt(`0x${readFileSync("/proc/sys/kernel/random/boot_id", "latin1").split("-")[0]}`);
    } catch (error) {
      if (hasCode(error, "ENOENT")) return undefined;
      throw error;
    }
  }

  async #tree(tree: Tree, onData?: (data: Buffer) => void): Promise<void> {
    const counts: Counts = { branches: 0, leaves: 0, overflows: 0, entries: 0 };
    if (tree.root !== undefined)
      await this.#page(tree, tree.root, 1, { from: undefined, to: undefined }, counts, onData);
    else if (tree.depth !== 0) this.#wrong(`the tree of ${tree.name} has no root`);
    for (const name of ["branches", "leaves", "overflows", "entries"] as const)
      if (counts[name] !== tree[name])
        this.#wrong(`the tree of ${tree.name} has ${counts[name]} ${name} where ${tree[name]} were written`);
    this.#entries[tree.name] = counts.entries;
  }

  async #page(
    tree: Tree,
    number: number,
    depth: number,
    bounds: Bounds,
    counts: Counts,
    onData: ((data: Buffer) => void) | undefined,
  ): Promise<void> {
    if (this.#pause.due()) await this.#pause.now();
    this.#use(number, 1, tree);
    const page = this.#read(number * this.#pageSize, this.#pageSize);
    const flags = page.readUInt16LE(18);
    const isLeaf = depth === tree.depth;
    this.#head(page, number, isLeaf ? leafFlag : branchFlag, tree);
    const count = page.readUInt16LE(20) >> 1;
    const upper = page.readUInt16LE(22);
    if (count * 2 > upper || upper > this.#pageSize - headBytes || (count < 1 && depth > 1))
      this.#wrong(`page ${number} of ${tree.name} has flags ${flags}, ${count} nodes and ${upper} bytes before them`);
    if (isLeaf) counts.leaves++;
    else counts.branches++;

    let before = bounds.from;
    const children: { readonly page: number; readonly from: Buffer | undefined }[] = [];
    for (let i = 0; i < count; i++) {
      const at = page.readUInt16LE(headBytes + 2 * i) + headBytes;
      if (at < upper + headBytes) this.#wrong(`page ${number} of ${tree.name} has a node outside of its nodes`);
      const keySize = page.readUInt16LE(at + 6);
      const keyEnd = at + 8 + keySize;
      if (keyEnd > this.#pageSize) this.#wrong(`page ${number} of ${tree.name} has a key that does not end`);
      const key = page.subarray(at + 8, keyEnd);
      const isFirstBranch = !isLeaf && i === 0; // its key is not written: it takes all that is before the second
      if (!isFirstBranch) {
        const order = before ? compare(tree, before, key) : -1;
        const mayEqual = i === 0 || (i === 1 && !isLeaf);
        if (order > 0 || (order === 0 && !mayEqual) || (bounds.to && compare(tree, key, bounds.to) >= 0))
          this.#wrong(`the keys of page ${number} of ${tree.name} are not in order`);
        before = key;
      }
      if (isLeaf) await this.#leaf(tree, page, at, counts, onData);
      else children.push({ page: pageOfBranch(page, at), from: isFirstBranch ? bounds.from : Buffer.from(key) });
    }
    for (const [i, child] of children.entries()) {
      const to = children[i + 1]?.from ?? bounds.to;
      await this.#page(tree, child.page, depth + 1, { from: child.from, to }, counts, onData);
    }
  }

  async #leaf(
    tree: Tree,
    page: Buffer,
    at: number,
    counts: Counts,
    onData: ((data: Buffer) => void) | undefined,
  ): Promise<void> {
    counts.entries++;
    const flags = page.readUInt16LE(at + 4);
    const keyEnd = at + 8 + page.readUInt16LE(at + 6);
    const size = page.readUInt32LE(at);
    if (flags & bigDataFlag) {
      const first = Number(page.readBigUInt64LE(keyEnd));
      const pages = Math.floor((headBytes - 1 + size) / this.#pageSize) + 1;
      this.#use(first, pages, tree);
      counts.overflows += pages;
      const head = this.#read(first * this.#pageSize, headBytes);
      this.#head(head, first, overflowFlag, tree);
      if (head.readUInt32LE(20) !== pages)
        this.#wrong(`page ${first} of ${tree.name} begins ${head.readUInt32LE(20)} pages where ${pages} are meant`);
      onData?.(this.#read(first * this.#pageSize + headBytes, size));
      return;
    }
    if (keyEnd + size > this.#pageSize) this.#wrong(`a value of ${tree.name} does not end within its page`);
    if ((flags & ~subTreeFlag) !== 0) this.#wrong(`a node of ${tree.name} has flags ${flags}`);
    const data = Buffer.from(page.subarray(keyEnd, keyEnd + size));
    if (flags & subTreeFlag) {
      if (tree.name !== "main" || size !== 48) this.#wrong(`a value of ${tree.name} claims to be a tree`);
      await this.#tree(parseTree(page.toString("latin1", at + 8, keyEnd).replace(/\0$/, ""), data, 0));
    } else onData?.(data);
  }

  #head(page: Buffer, number: number, flags: number, tree: Tree): void {
    const txn = Number(page.readBigUInt64LE(8));
    if (Number(page.readBigUInt64LE(0)) !== number || page.readUInt16LE(18) !== flags)
      this.#wrong(`page ${number} of ${tree.name} has another page in its place`);
    if (txn > this.#txn && this.#txn > 1) this.#wrong(`page ${number} of ${tree.name} is from the future`);
    this.#newestPageTxn = Math.max(this.#newestPageTxn, txn);
  }

  #use(first: number, count: number, tree: Tree): void {
    if (first < 2 || first + count - 1 > this.#lastPage)
      this.#wrong(`${tree.name} refers to page ${first}, which is outside of the file`);
    for (let page = first; page < first + count; page++) {
      if (this.#used[page]) this.#wrong(`page ${page} of ${tree.name} is used twice`);
      this.#used[page] = 1;
    }
  }

  /** A list of free pages: a count, then page numbers, or minus a length and the first page of a run; 0 means nothing. */
  #free(list: Buffer): void {
    const count = Number(list.readBigUInt64LE(0));
    if ((count + 1) * 8 > list.length) this.#wrong("a list of free pages does not end");
    for (let i = 1; i <= count; i++) {
      const value = Number(list.readBigInt64LE(i * 8));
      if (value === 0) continue;
      const run = value < 0 ? -value : 1;
      const first = value < 0 ? Number(list.readBigInt64LE(++i * 8)) : value;
      if (first < 2 || first + run - 1 > this.#lastPage) this.#wrong(`free page ${first} is outside of the file`);
      for (let page = first; page < first + run; page++) {
        if (this.#used[page]) this.#wrong(`page ${page} is free and in use`);
        this.#used[page] = 2;
      }
      this.#freePages += run;
    }
  }

  #read(offset: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    if (readSync(this.#fd, bytes, 0, length, offset) !== length) this.#wrong(`it ends before byte ${offset + length}`);
    return bytes;
  }
}

function parseTree(name: string, bytes: Buffer, at: number): Tree {
  const root = bytes.readBigUInt64LE(at + 40);
  return {
    name,
    flags: bytes.readUInt16LE(at + 4),
    depth: bytes.readUInt16LE(at + 6),
    branches: Number(bytes.readBigUInt64LE(at + 8)),
    leaves: Number(bytes.readBigUInt64LE(at + 16)),
    overflows: Number(bytes.readBigUInt64LE(at + 24)),
    entries: Number(bytes.readBigUInt64LE(at + 32)),
    root: root === noPage ? undefined : Number(root),
  };
}

const isSameTree = (a: Tree, b: Tree) =>
  a.depth === b.depth &&
  a.branches === b.branches &&
  a.leaves === b.leaves &&
  a.overflows === b.overflows &&
  a.entries === b.entries &&
  a.root === b.root;

const pageOfBranch = (page: Buffer, at: number) => page.readUInt32LE(at) + page.readUInt16LE(at + 4) * 2 ** 32;

const compare = ({ flags }: Tree, a: Buffer, b: Buffer) =>
  flags & integerKeyFlag && a.length === 8 && b.length === 8
    ? Number(a.readBigUInt64LE(0) - b.readBigUInt64LE(0))
    : Buffer.compare(a, b);
