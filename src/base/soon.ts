/** What is here, or comes. Most of what could have to be waited for is here: to wait for it all the same takes longer than much of the work. */
export type Soon<T> = T | Promise<T>;

/** Goes on with what is here at once, and with what comes when it has come. */
export const soon = <T, R>(value: Soon<T>, next: (value: T) => Soon<R>): Soon<R> =>
  value instanceof Promise ? value.then(next) : next(value);

/** Does something with each in turn, at once as long as nothing has to be waited for. */
export function eachInTurn<T>(items: readonly T[], step: (item: T) => Soon<void>, first = 0): Soon<void> {
  for (let i = first; i < items.length; i++) {
    const done = step(items[i] as T);
    if (done instanceof Promise) return done.then(() => eachInTurn(items, step, i + 1));
  }
}
