// A request as webhooks and policies see it: in the version in which it was made, or in another one that they asked for. All other
// plugins see the stored version.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/conversion.go and
// staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/generic/webhook.go.
import { catalog } from "#api/catalog.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import type { Soon } from "#base/soon.ts";
import { soon } from "#base/soon.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { notFound } from "#wire/status.ts";
import { converted } from "../../versions.ts";
import type { AdmissionOperation, AdmissionRequest } from "../plugin.ts";
import { find } from "../plugin.ts";

export interface ReviewedResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}
export interface ReviewedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export type AnyAdmissionRequest = AdmissionRequest<DraftObject | undefined, ApiObject | undefined>;

/** What of a request was matched: it as it was made, or the same in another version of its resource. */
export interface MatchedVersion {
  readonly resource: ReviewedResource;
  readonly kind: ReviewedKind;
  /** The version of the resource; of the object only where that is of the resource's kind. */
  readonly version: AnyKind;
}

const resourceOf = ({ group, version, plural }: AnyKind): ReviewedResource => ({
  group,
  version,
  resource: plural,
});
const kindOf = ({ group, version, kind }: AnyKind): ReviewedKind => ({ group, version, kind });

const operationNames: Readonly<Record<AdmissionOperation, string>> = {
  create: "CREATE",
  update: "UPDATE",
  delete: "DELETE",
  connect: "CONNECT",
};

/** The same for all requests of a version. */
const plainMatches = new WeakMap<AnyKind, MatchedVersion>();

function plainMatch(version: AnyKind): MatchedVersion {
  const known = plainMatches.get(version);
  if (known) return known;
  const match = { version, resource: resourceOf(version), kind: kindOf(version) };
  plainMatches.set(version, match);
  return match;
}

export class ReviewedRequest {
  readonly asked: AnyAdmissionRequest;
  /** CREATE, UPDATE, DELETE or CONNECT. */
  readonly operation: string;
  readonly name: string;
  /** That of a request about a namespace is the namespace itself. */
  readonly namespace: string;
  /** As the request was made. */
  readonly made: MatchedVersion;
  /** The kind of what was sent, where that is not the resource's: a Scale, a Binding. */
  readonly #sentKind: ReviewedKind | undefined;
  readonly #versions: readonly AnyKind[];
  /** What was converted already: several may ask for the same. */
  #conversions: Map<AnyKind, Map<ApiObject, Soon<ApiObject>>> | undefined;

  constructor(asked: AnyAdmissionRequest) {
    const { kind, object, server, requestedGroup, requestedVersion } = asked;
    this.asked = asked;
    this.operation = operationNames[asked.operation];
    this.name = asked.name || (object?.metadata?.name ?? "");
    this.namespace = kind === Namespace ? this.name : asked.namespace;
    this.#versions = server.versionsOf(kind);
    const version =
      this.#versions.find((one) => one.version === requestedVersion && one.group === requestedGroup) ?? kind;
    this.#sentKind = foreignKindOf(asked);
    this.made = this.#in(version);
  }

  /** The other versions in which the same resource is served. */
  equivalents(): readonly MatchedVersion[] {
    const others = this.#versions.filter((version) => version !== this.made.version);
    return others.map((version) => this.#in(version));
  }

  #in(version: AnyKind): MatchedVersion {
    const plain = plainMatch(version);
    return this.#sentKind ? { ...plain, kind: this.#sentKind } : plain;
  }

  /** What would be stored. Absent of deletions. */
  object({ version }: MatchedVersion): Soon<ApiObject | undefined> {
    return this.#converted(this.asked.object as ApiObject | undefined, version);
  }

  old({ version }: MatchedVersion): Soon<ApiObject | undefined> {
    return this.#converted(this.asked.old, version);
  }

  #converted(object: ApiObject | undefined, version: AnyKind): Soon<ApiObject | undefined> {
    if (object === undefined || this.#sentKind) return object;
    const from = this.versionOf(object);
    if (from === version) return object;
    this.#conversions ??= new Map();
    const known = this.#conversions.get(version) ?? new Map<ApiObject, Soon<ApiObject>>();
    this.#conversions.set(version, known);
    const result = known.get(object) ?? converted(from, version, object);
    known.set(object, result);
    return result;
  }

  /** The version that an object of the request is in; usually the stored one. */
  versionOf({ apiVersion }: Pick<ApiObject, "apiVersion">): AnyKind {
    return this.#versions.find((one) => one.apiVersion === apiVersion) ?? this.asked.kind;
  }

  /** The object is another than before. */
  changed(): void {
    this.#conversions = undefined;
  }

  /** The kind that the object is decoded as in a version; undefined of what is only passed on, as options of an exec are. */
  objectKind({ version, kind }: MatchedVersion): AnyKind | undefined {
    if (!this.#sentKind) return version;
    return catalog.find((one) => one.group === kind.group && one.version === kind.version && one.kind === kind.kind);
  }

  /** Whether what was sent is of another kind than the resource, and so never converted. */
  get sendsOther(): boolean {
    return this.#sentKind !== undefined;
  }

  /** The namespace that the request is in; undefined of one that is in none. Throws ApiError 404. */
  namespaceObject(): Soon<Namespace | undefined> {
    const { asked, namespace } = this;
    if (namespace === "") return undefined;
    return soon(find(asked, Namespace, namespace), (found) => {
      if (!found) throw notFound({ group: "", resource: "namespaces" }, namespace);
      return found;
    });
  }

  /** The options of the request, as upstream shows them: a patch is an update. */
  options(): object | undefined {
    const { operation, query } = this.asked;
    const kind = optionKinds.get(operation);
    if (kind === undefined) return undefined;
    const values = optionFields
      .map((field) => [field, query.get(field)] as const)
      .filter(([, value]) => value !== null && value !== "");
    const given = operation === "delete" ? {} : Object.fromEntries(values);
    return {
      kind,
      apiVersion: "meta.k8s.io/v1",
      ...(this.asked.dryRun && { dryRun: ["All"] }),
      ...given,
    };
  }
}

const optionKinds: ReadonlyMap<string, string> = new Map([
  ["create", "CreateOptions"],
  ["update", "UpdateOptions"],
  ["delete", "DeleteOptions"],
]);
const optionFields = ["fieldManager", "fieldValidation"];

function foreignKindOf({ object, kind, subresource }: AnyAdmissionRequest): ReviewedKind | undefined {
  if (subresource === "" || !object?.kind || !object.apiVersion || object.kind === kind.kind) return undefined;
  const slash = object.apiVersion.indexOf("/");
  const [group, version] = [object.apiVersion.slice(0, Math.max(0, slash)), object.apiVersion.slice(slash + 1)];
  return { group, version, kind: object.kind };
}
