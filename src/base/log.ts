// One JSON line per entry: a constant message, fields for what varies.
import type { Clock } from "./clock.ts";

export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];
export type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  /** A person must look. */
  error(message: string, fields?: LogFields): void;
  /** A log that adds `fields` to each entry. */
  with(fields: LogFields): Log;
}

export interface LogOptions {
  readonly clock: Clock;
  readonly level?: LogLevel;
  /** Receives each line, without its newline. */
  readonly write: (line: string) => void;
}

export function createLog({ clock, level = "info", write }: LogOptions): Log {
  const least = logLevels.indexOf(level);
  const bound = (inherited: LogFields): Log => {
    const at = (name: LogLevel) => (message: string, fields?: LogFields) => {
      if (logLevels.indexOf(name) < least) return;
      write(line({ time: new Date(clock.now()).toISOString(), level: name, message, ...inherited, ...fields }));
    };
    return {
      debug: at("debug"),
      info: at("info"),
      warn: at("warn"),
      error: at("error"),
      with: (fields) => bound({ ...inherited, ...fields }),
    };
  };
  return bound({});
}

/** For tests and tools that want no log. */
export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  with: () => silentLog,
};

/** A log entry must never fail: errors show their causes, and what JSON cannot say is said as text. */
function line(entry: LogFields): string {
  const seen = new Set<unknown>();
  return JSON.stringify(entry, (_key, value: unknown) => {
    if (value instanceof Error) return describeError(value);
    if (typeof value === "bigint" || typeof value === "function" || typeof value === "symbol") return String(value);
    if (typeof value === "object" && value !== null) {
      if (seen.has(value)) return "(seen above)";
      seen.add(value);
    }
    return value;
  });
}

function describeError(error: Error): LogFields {
  const { name, message, stack, cause } = error;
  return {
    name,
    message,
    stack,
    ...(cause === undefined ? {} : { cause: cause instanceof Error ? describeError(cause) : String(cause) }),
  };
}
