// Sharing one thread: long work gives way every few milliseconds.

/** Resolves in a later turn of the event loop, after everything that is ready now has run. */
export function turn(): Promise<void> {
  if (typeof setImmediate === "function") return new Promise((resolve) => setImmediate(resolve));
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}

/**
 * Returns a function to call often inside a long loop: it gives way once `everyMs` of work have passed,
 * and costs one reading of the clock otherwise. `const pause = breathe(); for (…) { …; if (pause.due()) await pause.now() }`
 */
export function breathe(everyMs = 4): { due(): boolean; now(): Promise<void> } {
  let start = performance.now();
  return {
    due: () => performance.now() - start >= everyMs,
    async now() {
      await turn();
      start = performance.now();
    },
  };
}

/** Work that yields where it may be interrupted. What it yields is waited for, if it has to be, and given back to it. */
export type StepwiseWork<T> = Generator<Promise<unknown> | undefined, T, unknown>;

/** Does the work, and gives way between its steps. */
export async function inTurns<T>(steps: StepwiseWork<T>): Promise<T> {
  const pause = breathe();
  for (let step = steps.next(); ; ) {
    if (step.done) return step.value;
    const awaited = step.value instanceof Promise ? await step.value : undefined;
    if (pause.due()) await pause.now();
    step = steps.next(awaited);
  }
}

/** The same without interruption, of work that never has to wait. */
export function atOnce<T>(steps: StepwiseWork<T>): T {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done) return step.value;
    if (step.value instanceof Promise) throw new Error("this work has to wait for something: it is done by inTurns");
  }
}
