// A SPDY/3.1 connection: many streams over one. The peers that matter are Go's spdystream, in kubectl and in kubelets,
// which knows no flow control: it neither sends windows nor heeds them. So windows count only for a peer that has spoken of
// them, and otherwise a slow reader holds up the connection, as it does upstream.
import { ByteQueue } from "./byte-queue.ts";
import type { ByteStream } from "./byte-stream.ts";
import {
  decodeSpdyHeaders,
  encodeSpdyFrame,
  encodeSpdyHeaders,
  initialWindowSetting,
  resetStatus,
  SpdyError,
  type SpdyFrame,
  SpdyFrameReader,
  type SpdyHeaders,
} from "./spdy-frames.ts";

/** The zlib streams of one connection, primed with SPDY's dictionary; blocks go through one after the other. */
export interface SpdyCompression {
  deflate(block: Uint8Array): Promise<Uint8Array>;
  /** Rejects with SpdyError. */
  inflate(block: Uint8Array): Promise<Uint8Array>;
  close(): void;
}

/** One stream of a connection; `destroy` resets it. */
export interface SpdyStream extends ByteStream {
  readonly id: number;
  readonly headers: SpdyHeaders;
  /** Whether the other side has reset it because it needs no more of it. */
  readonly isCancelled: boolean;
}

export interface SpdyOptions {
  readonly connection: ByteStream;
  readonly role: "client" | "server";
  readonly compression: SpdyCompression;
  /** Called for each stream that the other side opens; throws to refuse it. Without it, all are refused. */
  readonly accept?: (stream: SpdyStream) => void;
  /**
   * Whether a stream that the other side cancels has ended, after all that was sent, instead of having failed: Go's servers
   * cancel what is still open when a command is over.
   */
  readonly cancelEnds?: boolean;
  /** How many streams the other side may have open. */
  readonly streamLimit?: number;
  /** How many bytes may wait in a stream for its reader before the connection has to. */
  readonly queueLimit?: number;
}

interface State {
  readonly id: number;
  readonly input: ByteQueue;
  /** Settles when the other side knows, or has accepted, the stream. */
  readonly ready: Promise<void>;
  readonly settle: (error?: Error) => void;
  isKnown: boolean;
  window: number;
  sentFin: boolean;
  gotFin: boolean;
  isCancelled: boolean;
  gone: Error | undefined;
}

const initialWindow = 64 * 1024;
const largestPart = 32 * 1024;

export class SpdyConnection {
  readonly #options: SpdyOptions;
  readonly #streams = new Map<number, State>();
  #nextId: number;
  #lastRemoteId = 0;
  #headerTurn: Promise<unknown> = Promise.resolve();
  #over: Error | undefined;
  #heedsWindows = false;
  #streamWindow = initialWindow;
  #window = initialWindow;
  #wake: (() => void)[] = [];

  constructor(options: SpdyOptions) {
    this.#options = options;
    this.#nextId = options.role === "client" ? 1 : 2;
  }

  /** Reads until the other side is done; rejects if it breaks the protocol or is cut off. Then every stream is over, too. */
  async run(): Promise<void> {
    const { connection, compression } = this.#options;
    const reader = new SpdyFrameReader();
    let reason = new Error("the connection is closed");
    try {
      for await (const bytes of connection.input) for (const frame of reader.feed(bytes)) await this.#receive(frame);
    } catch (error) {
      if (error instanceof Error) reason = error;
      throw error;
    } finally {
      this.#over = reason;
      for (const state of this.#streams.values()) this.#drop(state, reason);
      compression.close();
    }
    await connection.end();
  }

  /** Resolves when the other side has accepted the stream. */
  async open(headers: SpdyHeaders): Promise<SpdyStream> {
    if (this.#over) throw this.#over;
    const id = this.#nextId;
    this.#nextId += 2;
    const state = this.#begin(id);
    await this.#sendHeaders(headers, (block) => ({
      type: "synStream",
      streamId: id,
      priority: 0,
      fin: false,
      unidirectional: false,
      block,
    }));
    await state.ready;
    return this.#streamOf(state, headers);
  }

  /** Says goodbye after all that was written. */
  async close(): Promise<void> {
    await this.#headerTurn;
    if (this.#over) return;
    await this.#send({ type: "goAway", lastStreamId: this.#lastRemoteId, status: 0 });
    await this.#options.connection.end();
  }

  async #receive(frame: SpdyFrame): Promise<void> {
    switch (frame.type) {
      case "synStream":
        return this.#accept(frame);
      case "synReply": {
        await this.#inflate(frame.block);
        const state = this.#streams.get(frame.streamId);
        if (!state) return;
        state.settle();
        if (frame.fin) this.#ended(state);
        return;
      }
      case "headers":
        await this.#inflate(frame.block); // keeps the zlib stream in step; nothing of ours sends meaning this way
        return;
      case "data":
        return this.#take(frame);
      case "rstStream": {
        const state = this.#streams.get(frame.streamId);
        if (!state) return;
        state.isCancelled = frame.status === resetStatus.cancel && state.isKnown;
        if (this.#options.cancelEnds && state.isCancelled) this.#ended(state);
        this.#drop(state, new Error(`the stream was reset with status ${frame.status}`));
        return;
      }
      case "settings": {
        const size = frame.values.get(initialWindowSetting);
        if (size === undefined) return;
        for (const state of this.#streams.values()) state.window += size - this.#streamWindow;
        this.#streamWindow = size;
        return this.#windowsMoved();
      }
      case "windowUpdate": {
        const state = this.#streams.get(frame.streamId);
        if (frame.streamId === 0) this.#window += frame.delta;
        else if (state) state.window += frame.delta;
        return this.#windowsMoved();
      }
      case "ping":
        // Ours have the parity of our streams: an answer to one of them.
        if (frame.id % 2 !== this.#nextId % 2) await this.#send(frame);
        return;
      case "goAway":
        return;
    }
  }

  async #accept({ streamId, fin, unidirectional, block }: SpdyFrame & { type: "synStream" }): Promise<void> {
    const { accept, streamLimit = 1000 } = this.#options;
    const headers = await this.#inflate(block);
    if (streamId === 0 || streamId % 2 === this.#nextId % 2 || streamId <= this.#lastRemoteId)
      throw new SpdyError(`stream ${streamId} may not be opened now`);
    this.#lastRemoteId = streamId;
    const refuse = (): Promise<void> => this.#send({ type: "rstStream", streamId, status: resetStatus.refusedStream });
    if (!accept || this.#streams.size >= streamLimit) return refuse();
    const state = this.#begin(streamId);
    if (unidirectional) state.sentFin = true;
    if (fin) this.#ended(state);
    try {
      accept(this.#streamOf(state, headers));
    } catch (error) {
      this.#drop(state, error instanceof Error ? error : new Error(String(error)));
      return refuse();
    }
    if (!unidirectional)
      await this.#sendHeaders({}, (reply) => ({ type: "synReply", streamId, fin: false, block: reply }));
    state.settle();
  }

  async #take({ streamId, fin, data }: SpdyFrame & { type: "data" }): Promise<void> {
    const state = this.#streams.get(streamId);
    if (!state || state.gotFin) {
      if (data.length > 0) this.#credit(undefined, data.length);
      return;
    }
    // Copied: the part is a view of what the connection read, and may wait long.
    if (data.length > 0 && !state.gone) await state.input.push(new Uint8Array(data)).catch(() => undefined); // a reset stream takes nothing
    if (fin) this.#ended(state);
  }

  #begin(id: number): State {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => undefined); // writers and openers await it; without any of them the rejection is of no interest
    const state: State = {
      id,
      input: new ByteQueue(this.#options.queueLimit ?? 1024 * 1024, (bytes) => this.#credit(state, bytes)),
      ready: promise,
      settle(error) {
        if (error) return reject(error);
        state.isKnown = true;
        resolve();
      },
      isKnown: false,
      window: this.#streamWindow,
      sentFin: false,
      gotFin: false,
      isCancelled: false,
      gone: undefined,
    };
    this.#streams.set(id, state);
    return state;
  }

  #streamOf(state: State, headers: SpdyHeaders): SpdyStream {
    const { id, input } = state;
    return {
      id,
      headers,
      input,
      get isCancelled() {
        return state.isCancelled;
      },
      write: (bytes) => this.#write(state, bytes),
      end: async () => {
        if (state.sentFin || state.gone) return;
        state.sentFin = true;
        await state.ready;
        await this.#send({ type: "data", streamId: id, fin: true, data: new Uint8Array() });
        this.#forget(state);
      },
      destroy: (reason = new Error("the stream was dropped")) => {
        // A reset that overtakes the reply would say that the stream never was.
        if (state.isKnown) this.#reset(state, reason);
        else
          state.ready.then(
            () => this.#reset(state, reason),
            () => undefined, // gone without it
          );
      },
    };
  }

  #reset(state: State, reason: Error): void {
    if (state.gone || this.#over) return;
    const isDone = state.sentFin && state.gotFin;
    this.#drop(state, reason);
    if (isDone) return;
    const frame: SpdyFrame = { type: "rstStream", streamId: state.id, status: resetStatus.cancel };
    this.#send(frame).catch(() => undefined); // gone with its connection
  }

  async #write(state: State, bytes: Uint8Array): Promise<void> {
    await state.ready;
    for (let at = 0; at < bytes.length; ) {
      while (this.#heedsWindows && Math.min(state.window, this.#window) <= 0 && !state.gone && !this.#over)
        await new Promise<void>((resolve) => this.#wake.push(resolve));
      const failure = state.gone ?? this.#over;
      if (failure) throw failure;
      if (state.sentFin) throw new Error("the stream was ended before this was written");
      const room = this.#heedsWindows ? Math.min(state.window, this.#window) : largestPart;
      const part = bytes.subarray(at, at + Math.min(room, largestPart));
      at += part.length;
      state.window -= part.length;
      this.#window -= part.length;
      await this.#send({ type: "data", streamId: state.id, fin: false, data: part });
    }
  }

  #ended(state: State): void {
    state.gotFin = true;
    state.input.end();
    this.#forget(state);
  }

  #forget(state: State): void {
    if (state.sentFin && state.gotFin) this.#streams.delete(state.id);
  }

  #drop(state: State, reason: Error): void {
    state.gone ??= reason;
    if (!state.gotFin) state.input.fail(reason);
    state.settle(reason);
    this.#streams.delete(state.id);
    this.#notify();
  }

  /** Lets the other side send as much again as was read. */
  #credit(state: State | undefined, delta: number): void {
    if (!this.#heedsWindows || this.#over) return;
    const frames: SpdyFrame[] = [{ type: "windowUpdate", streamId: 0, delta }];
    if (state && !state.gotFin && !state.gone) frames.push({ type: "windowUpdate", streamId: state.id, delta });
    for (const frame of frames) this.#send(frame).catch(() => undefined); // nothing to let in once the connection is gone
  }

  #windowsMoved(): void {
    this.#heedsWindows = true;
    this.#notify();
  }

  #notify(): void {
    const woken = this.#wake;
    this.#wake = [];
    for (const wake of woken) wake();
  }

  /** Blocks must be sent in the order in which they were compressed. */
  #sendHeaders(headers: SpdyHeaders, frameOf: (block: Uint8Array) => SpdyFrame): Promise<void> {
    const sent = this.#headerTurn.then(async () =>
      this.#send(frameOf(await this.#options.compression.deflate(encodeSpdyHeaders(headers)))),
    );
    this.#headerTurn = sent.catch(() => undefined); // its sender gets the error
    return sent;
  }

  async #inflate(block: Uint8Array): Promise<SpdyHeaders> {
    return decodeSpdyHeaders(await this.#options.compression.inflate(block));
  }

  #send(frame: SpdyFrame): Promise<void> {
    return this.#options.connection.write(encodeSpdyFrame(frame));
  }
}
