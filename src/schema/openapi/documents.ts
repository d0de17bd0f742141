// All OpenAPI documents of a server: built on first request, cached until the kinds in them change. Building one takes tens of milliseconds,
// so it yields to other work, and concurrent requests share one build. A failed build is not cached: the next request tries again.

import { breathe } from "#base/breathe.ts";
import { hex } from "#base/hex.ts";
import { type AnyKind, subresourcesOf } from "../kind.ts";
import type { GroupVersionKind, JsonValue, KindsOf } from "./definitions.ts";
import { groupPaths, resourcesPaths, rootDocuments } from "./discovery-paths.ts";
import { type ForeignDocument, withForeign } from "./foreign.ts";
import { encodeDocumentV2 } from "./gnostic.ts";
import { pathOfGroupVersion } from "./names.ts";
import { type ApiOperation, type MetaStructs, operationsOf, type Paths } from "./operations.ts";
import { documentV2 } from "./v2.ts";
import { documentV3, type Title } from "./v3.ts";

export interface OpenApiOptions {
  readonly meta: MetaStructs;
  /** What the documents call themselves: "Kubernetes" and the version of the API. */
  readonly title: Title;
}

export interface PublishedDocument<Content> {
  readonly content: Content;
  /** Equal for equal documents, across restarts and servers. */
  readonly etag: string;
}

export class OpenApi {
  readonly #options: OpenApiOptions;
  #groupVersions: ReadonlyMap<string, readonly AnyKind[]> = new Map();
  #kindsOf: (document: string) => KindsOf = () => () => undefined;
  readonly #documents = new Map<string, Promise<PublishedDocument<string>>>();
  #whole: Promise<PublishedDocument<string>> | undefined;
  #protobuf: Promise<PublishedDocument<Uint8Array>> | undefined;
  #foreign: readonly ForeignDocument[] = [];

  constructor(options: OpenApiOptions) {
    this.#options = options;
  }

  /** Says which kinds are served from now on. Only documents whose kinds are others than before are made anew. */
  serve(kinds: readonly AnyKind[]): void {
    const before = this.#groupVersions;
    this.#groupVersions = Map.groupBy(kinds, ({ group, version }) => pathOfGroupVersion(group, version));
    for (const path of new Set([...before.keys(), ...this.#groupVersions.keys()]))
      if (!sameKinds(before.get(path), this.#groupVersions.get(path))) this.#documents.delete(path);
    this.#kindsOf = kindsByStruct(kinds, this.#options.meta);
    this.#whole = undefined;
    this.#protobuf = undefined;
  }

  /** Says what other servers publish from now on. */
  publishForeign(documents: readonly ForeignDocument[]): void {
    this.#foreign = documents;
    this.#whole = undefined;
    this.#protobuf = undefined;
  }

  /** Names of the version 3 documents: "api/v1", "apis/apps", "apis/apps/v1", "version" … */
  names(): readonly string[] {
    const groups = [...this.#groupVersions.values()].flatMap(([first]) =>
      first?.group ? [`apis/${first.group}`] : [],
    );
    return [...new Set([...rootDocuments(this.#options.meta).keys(), ...groups, ...this.#groupVersions.keys()])].sort();
  }

  /** The version 3 document of a name, or undefined if there is none. */
  async document(name: string): Promise<PublishedDocument<string> | undefined> {
    const made = this.#documents.get(name);
    if (made) return made;
    const paths = this.#pathsOf(name);
    if (!paths) return undefined;
    const making = this.#makeV3(name, paths);
    this.#documents.set(name, making);
    making.catch(() => {
      if (this.#documents.get(name) === making) this.#documents.delete(name);
    });
    return making;
  }

  /** `/openapi/v3`: where each document is, with a hash that lets clients keep it for good. */
  async index(): Promise<PublishedDocument<string>> {
    const paths: [string, JsonValue][] = [];
    for (const name of this.names()) {
      const document = await this.document(name);
      if (document) paths.push([name, { serverRelativeURL: `/openapi/v3/${name}?hash=${document.etag}` }]);
    }
    for (const { v3 } of this.#foreign) if (v3) paths.push([v3.name, { serverRelativeURL: v3.url }]);
    return servedText(JSON.stringify({ paths: Object.fromEntries(paths) }));
  }

  /** `/openapi/v2` in JSON. */
  wholeDocument(): Promise<PublishedDocument<string>> {
    if (this.#whole) return this.#whole;
    const making = this.#makeV2().then(textOf).then(servedText);
    this.#whole = making;
    making.catch(() => {
      if (this.#whole === making) this.#whole = undefined;
    });
    return making;
  }

  /** `/openapi/v2` as a message of gnostic's OpenAPIv2, which kubectl asks for. */
  wholeDocumentProtobuf(): Promise<PublishedDocument<Uint8Array>> {
    if (this.#protobuf) return this.#protobuf;
    const making = this.#makeV2()
      .then(encodeDocumentV2)
      .then((bytes) => served(bytes, bytes));
    this.#protobuf = making;
    making.catch(() => {
      if (this.#protobuf === making) this.#protobuf = undefined;
    });
    return making;
  }

  async #makeV3(name: string, paths: Paths): Promise<PublishedDocument<string>> {
    return servedText(await textOf(await documentV3(this.#options.title, paths, this.#kindsOf(name))));
  }

  async #makeV2(): Promise<JsonValue> {
    const kindsOf = this.#kindsOf("all");
    const pause = breathe();
    const paths = new Map<string, readonly ApiOperation[]>();
    for (const name of this.names()) {
      for (const [path, operations] of this.#pathsOf(name) ?? []) paths.set(path, operations);
      if (pause.due()) await pause.now();
    }
    return withForeign(await documentV2(this.#options.title, paths, kindsOf), this.#foreign);
  }

  #pathsOf(name: string): Paths | undefined {
    const { meta } = this.#options;
    const kinds = this.#groupVersions.get(name);
    const [first] = kinds ?? [];
    if (kinds && first)
      return new Map([
        ...resourcesPaths(first.group, first.version, meta),
        ...kinds.flatMap((kind) => [...operationsOf(kind, meta)]),
      ]);
    const root = rootDocuments(meta).get(name);
    if (root) return root;
    const group = /^apis\/([^/]+)$/.exec(name)?.[1];
    return group !== undefined && this.names().includes(name) ? groupPaths(group, meta) : undefined;
  }
}

const textOf = (document: JsonValue): Promise<string> => jsonText(document, 3, breathe());

/** As JSON.stringify, but gives way to other work between the entries of the outer objects. */
async function jsonText(value: unknown, depth: number, pause: ReturnType<typeof breathe>): Promise<string> {
  if (depth === 0 || typeof value !== "object" || value === null || Array.isArray(value)) return JSON.stringify(value);
  const parts: string[] = [];
  for (const [name, inner] of Object.entries(value)) {
    parts.push(`${JSON.stringify(name)}:${await jsonText(inner, depth - 1, pause)}`);
    if (pause.due()) await pause.now();
  }
  return `{${parts.join(",")}}`;
}

const servedText = (content: string): Promise<PublishedDocument<string>> =>
  served(content, new TextEncoder().encode(content));

async function served<Content>(content: Content, bytes: Uint8Array<ArrayBuffer>): Promise<PublishedDocument<Content>> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return { content, etag: hex(digest) };
}

const sameKinds = (a: readonly AnyKind[] | undefined, b: readonly AnyKind[] | undefined): boolean =>
  a?.length === b?.length && (a ?? []).every((kind, i) => kind === b?.[i]);

/** What travels with every kind is known in each group and version: in a document of one, in that; in the whole, in all. */
function kindsByStruct(kinds: readonly AnyKind[], meta: MetaStructs): (document: string) => KindsOf {
  const core = { group: "", version: "v1" };
  const groupVersions = kinds.map(({ group, version }) => ({ group, version }));
  const byStruct = new Map<string, readonly GroupVersionKind[]>();
  const bodies = kinds.flatMap((kind) => [
    kind,
    ...Object.values(subresourcesOf(kind, meta.Scale)).flatMap((one) => one.kind?.() ?? []),
  ]);
  // A kind made at run time has a definition of its own, and its struct may be called like a built-in one.
  for (const kind of bodies) if (kind.model.publication.schema === undefined) byStruct.set(kind.struct.name, [kind]);
  for (const name of ["Status", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList"])
    byStruct.set(`meta/v1.${name}`, [{ ...core, kind: name }]);

  return (document) => {
    const places = distinct([
      core,
      ...groupVersions.filter(
        ({ group, version }) => document === "all" || pathOfGroupVersion(group, version) === document,
      ),
    ]);
    return (structName) => {
      const common = /^meta\/v1\.(DeleteOptions|WatchEvent)$/.exec(structName)?.[1];
      return common === undefined ? byStruct.get(structName) : places.map((place) => ({ ...place, kind: common }));
    };
  };
}

function distinct(places: readonly { group: string; version: string }[]) {
  const byPath = new Map(places.map((place) => [`${place.group} ${place.version}`, place]));
  return [...byPath].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, place]) => place);
}
