/** Uids of pods that changed, each told once however often it changed before it was asked for. */
export class ChangeFeed {
  readonly #changed = new Set<string>();
  #wake: (() => void) | undefined;

  add(uid: string): void {
    this.#changed.add(uid);
    this.#wake?.();
  }

  async *follow(signal: AbortSignal): AsyncGenerator<readonly string[]> {
    const stop = () => this.#wake?.();
    signal.addEventListener("abort", stop, { once: true });
    try {
      while (!signal.aborted) {
        if (this.#changed.size === 0)
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        this.#wake = undefined;
        const changed = [...this.#changed];
        this.#changed.clear();
        if (changed.length > 0) yield changed;
      }
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }
}
