// What is done with the requests of a route, and with the answers, besides where they are sent.

/** How the proxy speaks to a server; TCP passes bytes on. */
export type ServerProtocol = "HTTP" | "HTTPS" | "GRPC" | "GRPCS" | "TCP";

export interface RouteOptions {
  readonly sslRedirect: boolean;
  /** The path to ask for instead; `\1` is a group of the pattern of the path. */
  readonly rewriteTarget?: string;
  /** The pattern of the path, where the target has groups. */
  readonly rewritePattern?: string;
  readonly redirect?: { readonly location: string; readonly code: number };
  /** Where requests for / are sent. */
  readonly appRoot?: string;
  readonly cookie?: string;
  /** Networks that may ask; all by default. */
  readonly allowed?: readonly string[];
  readonly denied?: readonly string[];
  /** Users with hashes of their passwords, as crypt(3) knows them. */
  readonly users?: readonly { readonly name: string; readonly hash: string }[];
  readonly realm?: string;
  /** Requests per second from one address. */
  readonly requestsPerSecond?: number;
  readonly bodyBytes?: number;
  readonly connectSeconds?: number;
  readonly readMs?: number;
  readonly protocol: ServerProtocol;
  readonly host?: string;
  readonly requestHeaders?: HeaderChanges;
  readonly responseHeaders?: HeaderChanges;
  /** Another path for what begins with a prefix, or for everything. Comes before `location`. */
  readonly path?: PathChange;
  /** A redirect to where the request would be, but for what is said here. */
  readonly location?: RedirectLocation;
  /** The status that all requests are answered with. */
  readonly answer?: number;
}

export interface HeaderChanges {
  readonly set: readonly HeaderValue[];
  readonly add: readonly HeaderValue[];
  readonly remove: readonly string[];
}
export interface HeaderValue {
  readonly name: string;
  readonly value: string;
}

export type PathChange = { readonly full: string } | { readonly prefix: string; readonly replacement: string };

export interface RedirectLocation {
  readonly scheme?: "http" | "https";
  readonly hostname?: string;
  readonly port?: number;
  readonly code: number;
}
