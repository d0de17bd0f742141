/** Bytes between one who pushes and one who reads. Pushing waits while more than `limit` bytes have not been read. */
export class ByteQueue implements AsyncIterable<Uint8Array> {
  readonly #limit: number;
  readonly #onRead: (bytes: number) => void;
  readonly #parts: Uint8Array[] = [];
  #size = 0;
  #state: "open" | "ended" | "left" = "open";
  #error: Error | undefined;
  #wake: (() => void)[] = [];

  constructor(limit: number, onRead: (bytes: number) => void = () => undefined) {
    this.#limit = limit;
    this.#onRead = onRead;
  }

  /** Resolves when there is room for more. Rejects when the queue failed; is lost when the reader left. */
  async push(part: Uint8Array): Promise<void> {
    if (this.#error) throw this.#error;
    if (this.#state !== "open" || part.length === 0) return;
    this.#parts.push(part);
    this.#size += part.length;
    this.#notify();
    while (this.#size > this.#limit && this.#state === "open" && !this.#error) await this.#change();
    if (this.#error) throw this.#error;
  }

  /** The reader gets what is left, then the end. */
  end(): void {
    if (this.#state === "open") this.#state = "ended";
    this.#notify();
  }

  /** The reader gets the error at once, unless it has seen the end. */
  fail(error: Error): void {
    this.#error ??= error;
    this.#notify();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        if (this.#state === "ended" && this.#parts.length === 0) return;
        if (this.#error) throw this.#error;
        const part = this.#parts.shift();
        if (!part) {
          await this.#change();
          continue;
        }
        this.#size -= part.length;
        this.#notify();
        this.#onRead(part.length);
        yield part;
      }
    } finally {
      this.#state = "left";
      this.#parts.length = 0;
      this.#size = 0;
      this.#notify();
    }
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#wake.push(resolve));
  }

  #notify(): void {
    const woken = this.#wake;
    this.#wake = [];
    for (const wake of woken) wake();
  }
}
