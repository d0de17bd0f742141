// The credentials of a client, and their sources. A source is called before each request; it is notified when the server has rejected its
// credentials, and may then return others.
import type { Clock } from "#base/clock.ts";
import { isObject } from "#base/is-object.ts";
import type { KubeUser } from "./kubeconfig.ts";

export interface AccessCredentials {
  /** Of the header Authorization. */
  readonly authorization?: string;
  /** A certificate and its key, in PEM. */
  readonly cert?: string;
  readonly key?: string;
}

export interface CredentialSource {
  current(): Promise<AccessCredentials>;
  /** The server has rejected the credentials: the next call gets new ones. */
  refused(): void;
}

/** Caches credentials that expire: fetches them once, and again shortly before they expire or after the server rejected them. */
export class ExpiringCredentials implements CredentialSource {
  readonly #ask: () => Promise<ExpiringCredential>;
  readonly #clock: Clock;
  #known: Promise<ExpiringCredential> | undefined;

  constructor(ask: () => Promise<ExpiringCredential>, clock: Clock) {
    this.#ask = ask;
    this.#clock = clock;
  }

  async current(): Promise<AccessCredentials> {
    this.#known ??= this.#fetch();
    const known = await this.#known;
    if (known.until === undefined || known.until > this.#clock.now()) return known.credentials;
    this.#known = this.#fetch();
    return (await this.#known).credentials;
  }

  refused(): void {
    this.#known = undefined;
  }

  /** Concurrent callers share one fetch; a failure is not cached. */
  #fetch(): Promise<ExpiringCredential> {
    const fetching = this.#ask();
    fetching.catch(() => {
      if (this.#known === fetching) this.#known = undefined;
    });
    return fetching;
  }
}

export interface ExpiringCredential {
  readonly credentials: AccessCredentials;
  /** Milliseconds since 1970; undefined of what does not end. */
  readonly until: number | undefined;
}

/** Whom to act as, by the fields of a kubeconfig's user; names of headers are in lower case. */
export function impersonationHeaders(user: KubeUser): Readonly<Record<string, string | readonly string[]>> {
  const texts = (value: unknown): readonly string[] =>
    Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
  const { as: name, "as-uid": uid, "as-groups": groups, "as-user-extra": extra } = user;
  const headers: [string, string | readonly string[]][] = [];
  if (typeof name === "string" && name !== "") headers.push(["impersonate-user", name]);
  if (typeof uid === "string" && uid !== "") headers.push(["impersonate-uid", uid]);
  if (texts(groups).length > 0) headers.push(["impersonate-group", texts(groups)]);
  for (const [key, values] of Object.entries(isObject(extra) ? extra : {}))
    if (texts(values).length > 0)
      headers.push([`impersonate-extra-${encodeURIComponent(key).toLowerCase()}`, texts(values)]);
  return Object.fromEntries(headers);
}
