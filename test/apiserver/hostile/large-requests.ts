// Requests that take much work, drawn from a seed, each of which can be repeated: bodies on their way in by every kind of write, and
// large objects on their way out in every form.
import type { TestServer } from "#apiserver/testing.ts";
import type { Random } from "#base/random.ts";
import type { AnyKind } from "#schema/kind.ts";
import { isParts, isStream } from "#wire/http.ts";
import { type DrawnObject, LargeBodies } from "./large-bodies.ts";

export interface DrawnRequest {
  readonly name: string;
  /** What must be there before; its work is not of interest. */
  prepare?(): Promise<unknown>;
  /** Answers the code. */
  run(): Promise<number>;
}

const as = (kind: string) => `application/json;as=${kind};v=v1;g=meta.k8s.io`;
/** At least a bookmark comes, also where there is nothing. */
const fromTheStart =
  "watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&resourceVersion=0";
const forms: Readonly<Record<string, { readonly accept?: string; readonly query?: string }>> = {
  JSON: {},
  "indented JSON": { query: "pretty=true" },
  "a table": { accept: as("Table") },
  "a list of metadata": { accept: as("PartialObjectMetadataList") },
  YAML: { accept: "application/yaml" },
  protobuf: { accept: "application/vnd.kubernetes.protobuf,application/json" },
  "a watch": { query: fromTheStart },
  "a watch of tables": { query: fromTheStart, accept: as("Table") },
  "a selection": { query: "labelSelector=a!%3Db&limit=10" },
};

const collectionOf = ({ group, version, scope, plural }: AnyKind): string =>
  `${group === "" ? "/api" : `/apis/${group}`}/${version}${scope === "Namespaced" ? "/namespaces/default" : ""}/${plural}`;

const dryRun = "dryRun=All&fieldManager=test";

/** Of what may be in a body, this much can be stored: what a client sends is most of it, and who owns it the rest. */
const storedShare = 0.4;

export class LargeRequests {
  readonly #server: TestServer;
  readonly #bodies: LargeBodies;

  constructor(server: TestServer, random: Random, kinds?: (kind: AnyKind) => boolean) {
    this.#server = server;
    this.#bodies = new LargeBodies(random, kinds);
  }

  next(): DrawnRequest {
    const bodies = this.#bodies;
    const drawn = bodies.object(bodies.share());
    if (bodies.chance(0.25)) return this.#creationOfText(drawn.kind);
    if (bodies.chance(0.35)) return this.#creation(drawn);
    const stored = bodies.object(bodies.share() * storedShare);
    return bodies.chance(0.6) ? this.#change(stored) : this.#answer(stored);
  }

  #creation(drawn: DrawnObject): DrawnRequest {
    const { type, bytes } = this.#bodies.body(drawn);
    const path = `${collectionOf(drawn.kind)}?${dryRun}&fieldValidation=${this.#bodies.oneOf(validations)}`;
    return {
      name: `POST ${type} ${bytes.length} bytes with ${drawn.parts}`,
      run: () => this.#send("POST", path, bytes, { "content-type": type }),
    };
  }

  #creationOfText(kind: AnyKind): DrawnRequest {
    const { type, bytes } = this.#bodies.text(kind);
    const path = `${collectionOf(kind)}?${dryRun}&fieldValidation=${this.#bodies.oneOf(validations)}`;
    return {
      name: `POST ${kind.kind} ${type} ${bytes.length} bytes ${Buffer.from(bytes.subarray(0, 120))}`,
      run: () => this.#send("POST", path, bytes, { "content-type": type }),
    };
  }

  /** A stored object is changed into another of the same kind, or in the parts that it has. */
  #change(stored: DrawnObject): DrawnRequest {
    const { kind, object } = stored;
    const other = this.#bodies.chance(0.5) ? this.#bodies.object(this.#bodies.share(), kind) : stored;
    const name = this.#bodies.oneOf(Object.keys(changes));
    const { method, type, make } = changes[name] as Change;
    const query = name === "an apply" ? `${dryRun}&force=true` : dryRun;
    const bytes = Buffer.from(JSON.stringify(make(other.object, object)));
    const place = this.#bodies.chance(0.2) ? "/status" : "";
    return {
      name: `${name}${place} of ${bytes.length} bytes with ${other.parts} on one with ${stored.parts}`,
      prepare: () => this.#store(stored),
      run: () => this.#send(method, `${this.#pathOf(stored)}${place}?${query}`, bytes, { "content-type": type }),
    };
  }

  #answer(stored: DrawnObject): DrawnRequest {
    const name = this.#bodies.oneOf(Object.keys(forms));
    const { accept, query = "" } = forms[name] as (typeof forms)[string];
    return {
      name: `${stored.kind.plural} as ${name} with ${stored.parts}`,
      prepare: () => this.#store(stored),
      run: () => this.#send("GET", `${collectionOf(stored.kind)}?${query}`, undefined, accept ? { accept } : {}),
    };
  }

  /** In place of the one before, if there is one. */
  async #store(stored: DrawnObject): Promise<void> {
    await this.#send("DELETE", `${this.#pathOf(stored)}?gracePeriodSeconds=0`, undefined);
    await this.#send("POST", collectionOf(stored.kind), Buffer.from(JSON.stringify(stored.object)));
  }

  #pathOf({ kind, object }: DrawnObject): string {
    return `${collectionOf(kind)}/${(object.metadata as { name: string }).name}`;
  }

  async #send(
    method: string,
    url: string,
    bytes: Uint8Array = new Uint8Array(),
    headers: Readonly<Record<string, string>> = {},
  ): Promise<number> {
    const [path = "", query = ""] = url.split("?");
    const stop = new AbortController();
    const { code, body } = await this.#server.server.handle({
      method,
      path,
      query: new URLSearchParams(query),
      url,
      headers: { "content-type": "application/json", "user-agent": "test/1", ...headers },
      body: async () => bytes,
      content: (async function* () {
        yield bytes;
      })(),
      clientCertificate: undefined,
      remoteAddress: "127.0.0.1",
      signal: stop.signal,
    });
    if (isStream(body)) for await (const _ of body) stop.abort(new Error("enough"));
    else if (isParts(body)) for (const _ of body);
    return code;
  }
}

const validations = ["Strict", "Warn", "Ignore"];

type Json = Readonly<Record<string, unknown>>;

interface Change {
  readonly method: string;
  readonly type: string;
  make(wanted: Json, stored: Json): unknown;
}

const named = (wanted: Json, { metadata }: Json): Json => ({
  ...wanted,
  metadata: { ...(wanted.metadata as Json), name: (metadata as { name: string }).name },
});

const changes: Readonly<Record<string, Change>> = {
  "a replacement": { method: "PUT", type: "application/json", make: named },
  "a merge patch": { method: "PATCH", type: "application/merge-patch+json", make: named },
  "a strategic merge patch": { method: "PATCH", type: "application/strategic-merge-patch+json", make: named },
  "an apply": { method: "PATCH", type: "application/apply-patch+yaml", make: named },
  "a JSON patch": {
    method: "PATCH",
    type: "application/json-patch+json",
    make: (wanted) => Object.entries(wanted).map(([key, value]) => ({ op: "add", path: `/${key}`, value })),
  },
  "a JSON patch that copies": {
    method: "PATCH",
    type: "application/json-patch+json",
    make: (_wanted, stored) =>
      Array.from({ length: 40 }, (_, i) => ({
        op: "copy",
        from: `/${Object.keys(stored).at(-1)}`,
        path: `/metadata/annotations`,
        ...(i % 2 === 1 && { from: "/metadata", path: `/spec` }),
      })),
  },
  "a JSON patch of many steps": {
    method: "PATCH",
    type: "application/json-patch+json",
    make: () =>
      Array.from({ length: 9000 }, (_, i) => ({
        op: "add",
        path: `/metadata/finalizers/0`,
        value: `example.com/f${i}`,
      })),
  },
};
