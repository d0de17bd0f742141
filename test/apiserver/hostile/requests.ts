// Requests that nobody should send, drawn from a seed: most begin as something valid, and are then damaged in one or a few places.
import fc from "fast-check";
import { Scale } from "#api/autoscaling/v1/scale.ts";
import { catalog } from "#api/catalog.ts";
import type { Random } from "#base/random.ts";
import type { AnyKind } from "#schema/kind.ts";
import { subresourcesOf } from "#schema/kind.ts";
import { hasProtobuf } from "#schema/protobuf/message.ts";
import { arbitraryObject } from "#schema/testing/arbitrary.ts";
import { protobufCodec } from "#wire/protobuf.ts";
import { printYaml } from "#wire/yaml/write.ts";
import { samples } from "./samples.ts";

export interface DrawnRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

type Json = Record<string, unknown>;

const ARBITRARY_PER_KIND = 12;

/** Draws requests. The same seed draws the same ones. */
export class HostileRequests {
  readonly #random: Random;
  readonly #kinds: readonly {
    readonly kind: AnyKind;
    readonly valid: readonly Json[];
    readonly odd: readonly Json[];
  }[];

  constructor(random: Random, seed: number) {
    this.#random = random;
    this.#kinds = catalog.map((kind) => ({
      kind,
      valid: samples.filter((one) => one.apiVersion === kind.apiVersion && one.kind === kind.kind),
      odd: fc.sample(arbitraryObject(kind), { numRuns: ARBITRARY_PER_KIND, seed }) as readonly Json[],
    }));
  }

  next(): DrawnRequest {
    const address = this.#chance(0.9)
      ? this.#address()
      : { path: this.#oneOf(otherPaths), kind: undefined, named: false };
    const { kind } = address;
    const method = this.#method(address);
    let path = `${address.path}${this.#query(method)}`;
    if (this.#chance(0.04)) path = this.#damagedPath(path);
    const headers: Record<string, string> = {};
    const accept = this.#chance(0.15) ? this.#oneOf(accepts) : "application/json";
    if (accept !== "") headers.accept = accept;
    for (const [name, values] of Object.entries(otherHeaders))
      if (this.#chance(0.02)) headers[name] = this.#oneOf(values);
    const hasBody =
      kind !== undefined && method !== "GET" && method !== "HEAD" && this.#chance(method === "DELETE" ? 0.3 : 0.98);
    if (!hasBody) return { method, path, headers, body: undefined };
    const { type, body } = method === "PATCH" ? this.#patch(kind) : this.#object(kind, address.path, method);
    headers["content-type"] = this.#chance(0.04) ? this.#oneOf(contentTypes) : type;
    return { method, path, headers, body: this.#chance(0.3) ? this.#damagedBytes(body) : body };
  }

  #address(): { readonly path: string; readonly kind: AnyKind; readonly named: boolean } {
    const { kind } = this.#oneOf(this.#kinds);
    const root = kind.group === "" ? "/api" : `/apis/${kind.group}`;
    const place = kind.scope === "Namespaced" && this.#chance(0.95) ? `/namespaces/${this.#oneOf(namespaces)}` : "";
    const collection = `${root}/${kind.version}${place}/${kind.plural}`;
    if (this.#chance(0.35)) return { path: collection, kind, named: false };
    const name = this.#chance(0.95) ? this.#oneOf(names) : encodeURIComponent(this.#oneOf(oddNames));
    const own = Object.keys(subresourcesOf(kind, Scale));
    if (!this.#chance(0.25)) return { path: `${collection}/${name}`, kind, named: true };
    const subresource =
      own.length > 0 && this.#chance(0.9) ? this.#oneOf(own) : this.#oneOf(["status", "scale", "nothing", "a/b"]);
    return { path: `${collection}/${name}/${subresource}`, kind, named: true };
  }

  #method({ named, path }: { readonly named: boolean; readonly path: string }): string {
    if (this.#chance(0.02)) return this.#oneOf(["HEAD", "OPTIONS", "TRACE", "FOO", "get", "PROPFIND"]);
    if (/\/(eviction|binding|token)$/.test(path)) return this.#oneOf(["POST", "POST", "POST", "GET"]);
    if (named) return this.#oneOf(["GET", "PUT", "PUT", "PATCH", "PATCH", "PATCH", "DELETE"]);
    return this.#chance(0.03)
      ? this.#oneOf(["DELETE", "PUT", "PATCH"])
      : this.#oneOf(["GET", "POST", "POST", "POST", "POST"]);
  }

  #query(method: string): string {
    if (!this.#chance(method === "PATCH" ? 0.8 : 0.35)) return "";
    const known: [string, readonly string[]][] = Object.entries(queries);
    const parts = Array.from({ length: 1 + this.#random.below(3) }, () => {
      const [name, values] = this.#oneOf(known);
      const value = this.#chance(0.15) ? this.#oneOf(oddTexts) : this.#oneOf(values);
      return `${name}=${encodeURIComponent(value)}`;
    });
    if (method === "PATCH" && this.#chance(0.7)) parts.push("fieldManager=fuzz");
    return `?${parts.join("&")}`;
  }

  /** A body of a POST or PUT. */
  #object(kind: AnyKind, path: string, method: string): { readonly type: string; readonly body: Buffer } {
    const drawn = this.#drawn(kind);
    const [, name] = path.split(`/${kind.plural}/`);
    const metadata = { ...(drawn.metadata as Json | undefined) };
    if (this.#chance(0.9)) {
      if (method === "PUT") metadata.name = name?.split("/")[0];
      else metadata.name ??= this.#oneOf(names);
    }
    const object = this.#mutated({ ...drawn, metadata });
    if (this.#chance(0.2) && hasProtobuf(kind.struct)) {
      try {
        return {
          type: "application/vnd.kubernetes.protobuf",
          body: Buffer.from(protobufCodec.encode(kind, { ...drawn, metadata })),
        };
      } catch {
        // drawn for JSON, and not of a form that protobuf has
      }
    }
    if (this.#chance(0.15)) return { type: "application/yaml", body: Buffer.from(printYaml(object)) };
    return { type: "application/json", body: Buffer.from(JSON.stringify(object)) };
  }

  #patch(kind: AnyKind): { readonly type: string; readonly body: Buffer } {
    const object = this.#mutated(this.#drawn(kind));
    switch (this.#random.below(5)) {
      case 0:
        return json("application/json-patch+json", this.#chance(0.95) ? this.#operations(object) : object);
      case 1:
        return json("application/merge-patch+json", this.#part(object));
      case 2:
      case 3:
        return json("application/strategic-merge-patch+json", this.#withDirectives(this.#part(object)));
      default:
        return {
          type: "application/apply-patch+yaml",
          body: Buffer.from(this.#chance(0.5) ? printYaml(object) : JSON.stringify(object)),
        };
    }
  }

  #drawn(kind: AnyKind): Json {
    const { valid, odd } = this.#kinds.find((one) => one.kind === kind)!;
    return structuredClone(this.#chance(0.75) && valid.length > 0 ? this.#oneOf(valid) : this.#oneOf(odd));
  }

  /** Some of the members. */
  #part(object: Json): Json {
    return Object.fromEntries(Object.entries(object).filter(() => this.#chance(0.7)));
  }

  #operations(object: Json): unknown {
    const pointers = pointersOf(object);
    return Array.from({ length: this.#random.below(6) }, () => {
      const pointer = () => (this.#chance(0.85) ? this.#oneOf(pointers) : this.#oneOf(oddPointers));
      return {
        op: this.#oneOf(["add", "remove", "replace", "move", "copy", "test", "add", "replace", "nothing"]),
        path: pointer(),
        ...(this.#chance(0.4) && { from: pointer() }),
        ...(this.#chance(0.8) && { value: this.#oddValue() }),
      };
    });
  }

  #withDirectives(value: Json): Json {
    for (const [key, inner] of Object.entries(value)) {
      if (Array.isArray(inner)) {
        if (this.#chance(0.2))
          inner.push(
            this.#oneOf<unknown>([{ $patch: "delete", name: "c" }, { $patch: "replace" }, { $patch: 1 }, null]),
          );
        if (this.#chance(0.1))
          value[`$setElementOrder/${key}`] = this.#oneOf<unknown>([[], [{ name: "c" }], ["a"], 1, [null], inner]);
        if (this.#chance(0.1))
          value[`$deleteFromPrimitiveList/${key}`] = this.#oneOf<unknown>([["a"], "a", [{}], null]);
        for (const one of inner) if (isJson(one)) this.#withDirectives(one);
      } else if (isJson(inner)) this.#withDirectives(inner);
    }
    if (this.#chance(0.08)) value.$patch = this.#oneOf<unknown>(["delete", "replace", "merge", "nothing", 1, null]);
    if (this.#chance(0.06)) value.$retainKeys = this.#oneOf<unknown>([["name"], "name", [1], {}, null]);
    return value;
  }

  /** The object with a few places changed; half the time as it is. */
  #mutated(object: Json): Json {
    let result: unknown = object;
    for (let left = this.#chance(0.5) ? 0 : 1 + this.#random.below(4); left > 0; left--)
      result = this.#mutatedOnce(result);
    return isJson(result) ? result : object;
  }

  #mutatedOnce(value: unknown): unknown {
    if (Array.isArray(value)) {
      if (value.length === 0 || this.#chance(0.2))
        return this.#chance(0.5) ? [...value, ...value] : [...value, this.#oddValue()];
      const at = this.#random.below(value.length);
      return value.with(at, this.#mutatedOnce(value[at]));
    }
    if (!isJson(value)) return this.#oddValue();
    const keys = Object.keys(value);
    const copy = { ...value };
    const key = keys.length > 0 ? this.#oneOf(keys) : undefined;
    const dice = this.#random.next();
    if (key === undefined || dice < 0.06) copy[this.#oneOf(oddTexts)] = this.#oddValue();
    else if (dice < 0.14) delete copy[key];
    else if (dice < 0.24) copy[key] = this.#oddValue();
    else copy[key] = this.#mutatedOnce(copy[key]);
    return copy;
  }

  #oddValue(): unknown {
    return structuredClone(this.#oneOf(oddValues));
  }

  #damagedPath(path: string): string {
    const at = 1 + this.#random.below(path.length); // HTTP/2 itself refuses what does not start with a slash
    switch (this.#random.below(4)) {
      case 0:
        return `${path.slice(0, at)}${this.#oneOf(pathPieces)}${path.slice(at)}`;
      case 1:
        return path.slice(0, at) || "/";
      case 2:
        return path.replace("/", "//");
      default:
        return `${path}/${"x".repeat(this.#random.below(3000))}`;
    }
  }

  #damagedBytes(body: Buffer): Buffer {
    const at = this.#random.below(body.length + 1);
    switch (this.#random.below(9)) {
      case 0:
        return body.subarray(0, at);
      case 1:
      case 2: {
        const copy = Buffer.from(body);
        for (let i = 0; i < 1 + this.#random.below(4) && copy.length > 0; i++)
          copy[this.#random.below(copy.length)] = this.#random.below(256);
        return copy;
      }
      case 3:
        return Buffer.concat([body.subarray(0, at), this.#oneOf(oddBytes), body.subarray(at)]);
      case 4:
        return Buffer.from(body.toString().replace(/[[{"]?[0-9]+/, this.#oneOf(oddNumbers)));
      case 5:
        return Buffer.from(body.toString().replace(/"(spec|metadata|name|data)":/, '"$1":null,"$1":{},"$1":'));
      case 6: {
        const depth = this.#oneOf([100, 499, 501, 5000]);
        return Buffer.from(`{"metadata":{"name":"a"},"spec":${this.#oneOf(["[", '{"a":'] as const).repeat(depth)}`);
      }
      case 7:
        return Buffer.concat([body, body]);
      default:
        return Buffer.from(this.#oneOf(oddBodies));
    }
  }

  #chance(of: number): boolean {
    return this.#random.next() < of;
  }

  #oneOf<T>(all: readonly T[]): T {
    return all[this.#random.below(all.length)] as T;
  }
}

const isJson = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);

const json = (type: string, value: unknown) => ({ type, body: Buffer.from(JSON.stringify(value)) });

function pointersOf(value: unknown, path = ""): readonly string[] {
  if (typeof value !== "object" || value === null) return [path];
  const inner = Object.entries(value).flatMap(([key, one]) =>
    pointersOf(one, `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`),
  );
  return [path, ...inner, ...(Array.isArray(value) ? [`${path}/-`] : [])];
}

const names = ["a", "b", "c", "d"];
const oddNames = ["A", "..", "a/b", "a\u0000", "é", "%", "x".repeat(300), "a b", "a:b", "__proto__", "-"];
const namespaces = ["default", "default", "default", "fuzz", "fuzz", "missing", "kube-system"];
const oddTexts = [
  "",
  "-",
  "null",
  "é😀",
  "\u0000",
  "a=b,c in (d",
  "x".repeat(300),
  "__proto__",
  "constructor",
  "%",
  "{}",
  "..",
  "-1",
  "1e9",
  "99999999999999999999",
];
const oddValues: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  2 ** 31,
  2 ** 53,
  -(2 ** 31),
  "",
  "a",
  "A b",
  "é😀",
  "\u0000",
  "\ud800",
  "x".repeat(300),
  "x".repeat(70_000),
  [],
  {},
  [null],
  [[]],
  [{}],
  ["a", "a"],
  { a: 1 },
  { a: null },
  { "": "" },
  { name: "a" },
  { matchLabels: { a: 1 } },
  "10m",
  "1Ei",
  "-5",
  "1e400",
  "2026-01-02T03:04:05Z",
  "2026-99-99",
  "100%",
  "-1%",
  "10.0.0.0/8",
  "::1",
  "999.1.1.1",
  "All",
  "Never",
  "$(A)",
  "[",
  "(a+)+$",
  "*",
];
const oddNumbers = [
  "1e999",
  "-0",
  "01",
  "1.",
  "99999999999999999999999",
  "-9223372036854775809",
  "0x10",
  "NaN",
  "1e-999",
  "Infinity",
  "+1",
  "1_000",
];
const oddPointers = [
  "",
  "/",
  "a",
  "/-",
  "/metadata/-",
  "/~2",
  "/spec/~01",
  "/a/b/c/d/e",
  "/metadata/labels/__proto__",
  "/metadata/annotations/-1",
  "//",
  "/kind",
  "/metadata",
  "/spec",
];
const oddBytes = [
  [0xff],
  [0xc0, 0x80],
  [0xed, 0xa0, 0x80],
  [0],
  [0xef, 0xbb, 0xbf],
  [0xf5, 0x80, 0x80, 0x80],
  [0x22],
  [0x7b],
  [0x0a],
].map((one) => Buffer.from(one));
const oddBodies = [
  "",
  " ",
  "null",
  "[]",
  "{}",
  '"x"',
  "1",
  "true",
  "{",
  "[",
  "&a [*a]",
  "a: &a [*a, *a]\nb: *a",
  "---\n---\n",
  "k8s\u0000",
  "k8s\u0000\n\u0001",
  "\u0000",
  "{'a':1}",
  '{"a":1,}',
  "{}{}",
  "!!js/function 'x'",
  "? [a]\n: b",
  "- a\n- b",
  "<<: *x",
  "apiVersion: v1\nkind: List\nitems: []",
];
const pathPieces = ["%", "%zz", "%00", "%2f", "/../", "/./", "%2e%2e/", "%ff", ";", "@", "\\", "//", "?", "%c0%ae"];
const otherPaths = [
  "/",
  "/api",
  "/apis",
  "/api/v1",
  "/api/v2",
  "/apis/apps",
  "/apis/apps/v1",
  "/apis/nothing/v1",
  "/apis//v1/pods",
  "/version",
  "/healthz",
  "/readyz",
  "/livez/ping",
  "/healthz/nothing",
  "/openapi/v3",
  "/openapi/v3/api/v1",
  "/openapi/v3/apis/nothing",
  "/.well-known/openid-configuration",
  "/openid/v1/jwks",
  "/knarr/v1/trace",
  "/knarr/v1/trace/x",
  "/nothing",
  "/metrics",
];
const contentTypes = [
  "",
  "text/plain",
  "application/json; charset=utf-8",
  "application/json;",
  "application/xml",
  "application/*",
  "*/*",
  "application/cbor",
  "application/json, application/yaml",
  "a",
  "application/vnd.kubernetes.protobuf",
  "application/yaml",
  "application/merge-patch+json",
  "application/apply-patch+yaml",
  "application/apply-patch+cbor",
  "multipart/form-data; boundary=x",
];
const accepts = [
  "",
  "*/*",
  "application/yaml",
  "application/vnd.kubernetes.protobuf",
  "application/vnd.kubernetes.protobuf,application/json",
  "application/json;as=Table;v=v1;g=meta.k8s.io",
  "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
  "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
  "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
  "application/json;as=Nothing;v=v1;g=meta.k8s.io",
  "text/html",
  "application/json;q=0",
  "application/json;q=x",
  ";;,,=",
  "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io",
  "application/json;stream=watch",
  "application/cbor",
  "a/b/c",
];
const otherHeaders: Readonly<Record<string, readonly string[]>> = {
  "impersonate-user": ["jane", "", "system:anonymous", "system:node:a"],
  "impersonate-group": ["a", "system:masters"],
  "impersonate-uid": ["u"],
  "impersonate-extra-x%2": ["a"],
  authorization: ["Bearer x", "Bearer ", "Basic YTpi", "Bearer a.b.c", "x"],
  traceparent: [
    "00-00000000000000000000000000000000-0000000000000000-00",
    "x",
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  ],
  "knarr-because": ["pods/a/b@1", "x", "@@@", ",".repeat(1000), "pods/a/b@99999999999999999999"],
  "user-agent": ["curl/8", "x".repeat(3000), "kubectl/v1.33"],
  "if-none-match": ['"x"', "*"],
  "accept-encoding": ["gzip", "br", "gzip;q=0", ","],
  "content-encoding": ["gzip", "br"],
  cookie: ["a=b; c=d"],
  range: ["bytes=0-1"],
};
const queries: Readonly<Record<string, readonly string[]>> = {
  labelSelector: ["app=web", "app in (web,db),!x", "app notin (", "a=b=c", "!", "app"],
  fieldSelector: ["metadata.name=a", "spec.nodeName=", "status.phase!=Running", "nothing=1", "a", "=,="],
  limit: ["1", "2", "500", "0", "x"],
  continue: ["x", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0"],
  resourceVersion: ["0", "1", "x", "-1"],
  resourceVersionMatch: ["Exact", "NotOlderThan", "x"],
  dryRun: ["All", "x"],
  fieldManager: ["m", "x".repeat(200), "\u0001"],
  force: ["true", "false", "x"],
  fieldValidation: ["Strict", "Warn", "Ignore", "x"],
  gracePeriodSeconds: ["0", "1", "-1", "x"],
  propagationPolicy: ["Orphan", "Background", "Foreground", "x"],
  orphanDependents: ["true", "x"],
  pretty: ["true", "1", "x"],
  includeObject: ["Metadata", "Object", "x"],
  timeoutSeconds: ["0", "1", "x"],
  sendInitialEvents: ["true"],
  allowWatchBookmarks: ["true"],
  container: ["c", "x"],
  command: ["sh"],
  stdout: ["true"],
  follow: ["true"],
  path: ["/x"],
  "": [""],
};
