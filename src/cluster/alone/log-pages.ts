import { existsSync } from "node:fs";

/** Both families where the kernel has both. */
export const anyAddress = (): string => (existsSync("/proc/net/if_inet6") ? "::" : "0.0.0.0");

export const page = (code: number, body: string, type = "text/plain") => ({
  code,
  headers: { "content-type": type },
  body,
});

/** Aborts with `ended` when the process is told to end. */
export function endingSignal(): { readonly signal: AbortSignal; readonly ended: Error } {
  const stop = new AbortController();
  const ended = new Error("told to end");
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort(ended));
  return { signal: stop.signal, ended };
}
