/** Limits the work that runs beside the cycles. This many requests at once keep the API server busy; more would only wait there. */
export class PodsInFlight {
  readonly #limit: number;
  readonly #work = new Set<Promise<void>>();
  #room: (() => void) | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get isFull(): boolean {
    return this.#work.size >= this.#limit;
  }

  /** The work must not reject. */
  add(work: Promise<void>): void {
    this.#work.add(work);
    void work.finally(() => {
      this.#work.delete(work);
      this.#room?.();
    });
  }

  /** Resolves when there is room for more. */
  async room(): Promise<void> {
    while (this.isFull)
      await new Promise<void>((resolve) => {
        this.#room = resolve;
      });
  }

  async all(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work);
  }
}
