/** What is here, or comes. Most of what could have to be waited for is here: to wait for it all the same takes longer than much of the work. */
export type Soon<T> = T | Promise<T>;

/** Goes on with what is here at once, and with what comes when it has come. */
export const soon = <T, R>(value: Soon<T>, next: (value: T) => Soon<R>): Soon<R> =>
  value instanceof Promise ? value.then(next) : next(value);
