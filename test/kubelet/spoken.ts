// A client of a kubelet's own handler, over SPDY and without a network between.
import assert from "node:assert/strict";
import type { KubeletRequest } from "#kubelet/server/server.ts";
import { spdyCompression } from "#wire/host/streams/spdy-compression.ts";
import type { HttpResponse } from "#wire/http.ts";
import { byteStreamPair } from "#wire/streams/byte-stream.ts";
import type { RemoteCommandStreams, StreamStatus, TerminalSize } from "#wire/streams/remote-command.ts";
import { runOverSpdy } from "#wire/streams/remote-command-client.ts";
import { SpdyConnection } from "#wire/streams/spdy.ts";

interface Handles {
  readonly kubelet: { handle(request: KubeletRequest): Promise<HttpResponse> };
}

export interface Spoken {
  readonly io: { type(text: string): void; resize(size: TerminalSize): void };
  readonly heard: Heard;
  /** How it ended. */
  readonly status: Promise<StreamStatus>;
}

/** Asks for a command, with `options` as a kubelet's query has them. */
export function spoken(
  { kubelet }: Handles,
  path: string,
  options: Record<string, string>,
  command: readonly string[],
): Spoken {
  const [typed, sizes, heard] = [new Feed<Uint8Array>(), new Feed<TerminalSize>(), new Heard()];
  const query = new URLSearchParams(options);
  for (const word of command) query.append("command", word);
  const talk = async (): Promise<StreamStatus> => {
    const headers = { connection: "Upgrade", upgrade: "SPDY/3.1", "x-stream-protocol-version": "v4.channel.k8s.io" };
    const { signal } = new AbortController();
    const response = await kubelet.handle({ method: "POST", url: `${path}?${query}`, headers, signal });
    assert.ok(response.upgraded, String(response.body));
    const [here, there] = byteStreamPair();
    const serving = response.upgraded(there);
    const spdy = new SpdyConnection({ connection: here, role: "client", compression: spdyCompression() });
    const over = spdy.run();
    const streams: RemoteCommandStreams = {
      stdin: options.input ? typed : undefined,
      stdout: options.output ? (bytes) => heard.take(bytes) : undefined,
      stderr: undefined,
      resizes: sizes,
    };
    const wanted = { stdin: !!options.input, stdout: !!options.output, stderr: false, tty: !!options.tty };
    const status = await runOverSpdy(spdy, wanted, streams);
    await here.end();
    await Promise.all([serving, over]);
    return status;
  };
  return {
    io: { type: (text) => typed.push(Buffer.from(text)), resize: (size) => sizes.push(size) },
    heard,
    status: talk(),
  };
}

/** What a command wrote. */
class Heard {
  size = 0;
  #text = "";
  #changed: () => void = () => undefined;
  #gate: Promise<void> = Promise.resolve();
  #open: () => void = () => undefined;

  async take(bytes: Uint8Array): Promise<void> {
    this.size += bytes.length;
    this.#text = (this.#text + Buffer.from(bytes)).slice(-10_000);
    this.#changed();
    await this.#gate;
  }

  /** Takes one part more, and no others until told. */
  pause(): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gate = promise;
    this.#open = resolve;
  }

  resume(): void {
    this.#open();
  }

  has(text: string): boolean {
    return this.#text.includes(text);
  }

  async until(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.#text))
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
  }
}

/** What is pushed, as it comes. */
class Feed<T> implements AsyncIterable<T> {
  readonly #items: T[] = [];
  #changed: () => void = () => undefined;

  push(item: T): void {
    this.#items.push(item);
    this.#changed();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      const item = this.#items.shift();
      if (item !== undefined) yield item;
      else
        await new Promise<void>((resolve) => {
          this.#changed = resolve;
        });
    }
  }
}
