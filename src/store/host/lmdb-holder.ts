// The process that holds a store answers for it to other processes of its user, on a socket in the folder.
//
// They cannot look for themselves. Whoever opens an LMDB file, even to read, sets the number of its newest transaction to the one
// he has just seen (mdb_env_open2 of the LMDB inside the lmdb package). What the holder has committed in between would be taken back.
import { closeSync, openSync, rmSync } from "node:fs";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Log } from "#base/log.ts";
import { type Revision, Unavailable } from "../engine.ts";

export interface StoreFigures {
  readonly revision: Revision;
  readonly compacted: Revision;
  readonly keys: number;
  readonly sizeBytes: number;
  readonly usedBytes: number;
}

/** What can be asked of a store in use. */
export interface StoreHolder {
  figures(): Promise<StoreFigures>;
  /** Writes a consistent copy to a new file. */
  snapshot(path: string): Promise<void>;
}

/** A question is one of these, an answer what the call gives or why it failed; each is one JSON text, ended by the end of the stream. */
type Question = { readonly ask: "figures" } | { readonly ask: "snapshot"; readonly path: string };
type Answer = { readonly result: unknown } | { readonly error: string };

const socketName = "store.sock";
const questionBytes = 16_384;
const questionMs = 10_000;
/** Figures are at hand; a snapshot takes as long as it takes. */
const figuresMs = 10_000;
/** The path of a socket is cut off after this, on the strictest of systems. */
const pathBytes = 103;

export class HolderDesk {
  readonly #holder: StoreHolder;
  readonly #server: Server;
  readonly #place: SocketPath;
  readonly #busy = new Set<Promise<void>>();

  /** To be opened only by who holds the lock of the folder: a socket that is there already is a dead process's. */
  constructor(folder: string, holder: StoreHolder, log: Log) {
    this.#holder = holder;
    this.#place = placeIn(folder);
    this.#server = createServer({ allowHalfOpen: true }, (socket) => {
      const answered = this.#answer(socket).catch((error: unknown) => {
        log.warn("a question about the store was not answered", { folder, error });
        socket.destroy();
      });
      this.#busy.add(answered);
      void answered.then(() => this.#busy.delete(answered));
    });
    this.#server.on("error", (error) =>
      log.warn("the store cannot be looked at while it is in use", { folder, error }),
    );
    rmSync(this.#place.path, { force: true });
    this.#server.listen(this.#place.path);
    this.#server.unref();
  }

  /** Resolves when all who asked have their answer, and nobody can ask any more. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    await Promise.all(this.#busy);
    await closed;
    this.#place.leave();
  }

  async #answer(socket: Socket): Promise<void> {
    socket.setTimeout(questionMs, () => socket.destroy(new Error(`no question within ${questionMs / 1000} s`)));
    const question = await readQuestion(socket);
    socket.setTimeout(0);
    socket.end(JSON.stringify(await this.#reply(question)));
  }

  async #reply(question: Question): Promise<Answer> {
    try {
      return {
        result: question.ask === "figures" ? await this.#holder.figures() : await this.#holder.snapshot(question.path),
      };
    } catch (error) {
      return { error: error instanceof Error ? error.message : String(error) };
    }
  }
}

async function readQuestion(socket: Socket): Promise<Question> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of socket.iterator({ destroyOnReturn: false })) {
    parts.push(part);
    bytes += part.length;
    if (bytes > questionBytes) throw new Error(`a question of more than ${questionBytes} bytes`);
  }
  return JSON.parse(Buffer.concat(parts).toString()) as Question;
}

/** Asks the process that holds the store in a folder; rejects with Unavailable if nobody answers there. */
export function holderIn(folder: string): StoreHolder {
  return {
    figures: async () => (await ask(folder, { ask: "figures" })) as StoreFigures,
    snapshot: async (path) => void (await ask(folder, { ask: "snapshot", path })),
  };
}

async function ask(folder: string, question: Question): Promise<unknown> {
  const place = placeIn(folder);
  let given: string;
  try {
    const socket = createConnection(place.path);
    if (question.ask === "figures")
      socket.setTimeout(figuresMs, () => socket.destroy(new Error(`no answer within ${figuresMs / 1000} s`)));
    socket.end(JSON.stringify(question));
    given = await text(socket);
  } catch (cause) {
    throw new Unavailable(`store ${folder}: the process that holds it does not answer`, { cause });
  } finally {
    place.leave();
  }
  if (given === "") throw new Unavailable(`store ${folder}: the process that holds it ended before it answered`);
  const answer = JSON.parse(given) as Answer;
  if ("error" in answer) throw new Error(answer.error);
  return answer.result;
}

interface SocketPath {
  readonly path: string;
  leave(): void;
}

/** The socket of a folder; a path that is too long for one is entered through the open folder, on systems that have /proc. */
function placeIn(folder: string): SocketPath {
  const path = join(folder, socketName);
  if (Buffer.byteLength(path) <= pathBytes) return { path, leave: () => undefined };
  const fd = openSync(folder, "r");
  return { path: `/proc/self/fd/${fd}/${socketName}`, leave: () => closeSync(fd) };
}
