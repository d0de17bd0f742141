// A request to a server and what comes back, before anything is made of it.

/** One of `[name, value]` for each parameter, in the order in which they are sent. */
export type Query = readonly (readonly [string, string])[];

export interface RestRequest {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS";
  /** Begins with a slash. */
  readonly path: string;
  readonly query?: Query;
  readonly body?: string | Uint8Array;
  readonly contentType?: string;
  /** Defaults to JSON. */
  readonly accept?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Ends the request; the session's own signal always does. */
  readonly signal?: AbortSignal;
  /** Watches and logs go on for as long as they like, whatever `--request-timeout` says. */
  readonly isEndless?: boolean;
}

export interface RestResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/** The path with its parameters, as Go encodes them: sorted by name, spaces as plus signs. */
export function pathWithQuery({ path, query = [] }: RestRequest): string {
  if (query.length === 0) return path;
  const sorted = query.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  const text = sorted.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&");
  return `${path}${path.includes("?") ? "&" : "?"}${text}`;
}

const encode = (text: string): string =>
  encodeURIComponent(text)
    .replace(/[!'()*]/g, (odd) => `%${odd.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll("%20", "+");
