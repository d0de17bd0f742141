// A kind of object that the API serves: the one place that knows what it is.
import type { Soon } from "#base/soon.ts";
import { declared } from "./declared.ts";
import { Field, ref, typeMeta } from "./field.ts";
import type { InferFields, Mutable } from "./infer.ts";
import type { ObjectModel } from "./model.ts";
import { ObjectMeta } from "./object-meta.ts";
import type { Problem } from "./problem.ts";
import { type AnyStruct, type Fields, type Struct, type StructRules, struct } from "./struct.ts";

export const allVerbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"] as const;
export type Verb = (typeof allVerbs)[number];

/** What every object has besides its own fields. What the server sets on creation is there for all who read objects. */
const objectFields = {
  apiVersion: new Field<string, true>(typeMeta.apiVersion.spec),
  kind: new Field<string, true>(typeMeta.kind.spec),
  metadata: ref(1, ObjectMeta, "Name, labels and the other things all objects have.").default({}) as Field<
    CreatedMeta,
    true
  >,
};
export type ObjectFields = typeof objectFields;

type CreatedMeta = ObjectMeta & { readonly [K in "name" | "uid" | "resourceVersion" | "creationTimestamp"]: string };

export type ObjectOf<F extends Fields> = InferFields<ObjectFields & F>;

/** One column of `kubectl get`. */
export interface Column<O> {
  readonly name: string;
  readonly type?: "string" | "integer" | "number" | "boolean" | "date";
  readonly format?: string;
  readonly doc?: string;
  /** Only with `-o wide`. */
  readonly wide?: boolean;
  /** The same as a number, of which all above 0 are wide. */
  readonly priority?: number;
  /** What is shown. `undefined` shows as the zero of the column's type, `null` as nothing. `now` is in milliseconds. */
  cell(object: O, now: number): unknown;
}

/** The condition of a whole row, by which clients may hide or mark it; `Completed` is the only type. */
export interface RowCondition {
  readonly type: "Completed";
  readonly status: "True" | "False" | "Unknown";
  readonly reason?: string;
  readonly message?: string;
}

export interface Subresource {
  /** What is sent and answered; defaults to the kind itself. */
  readonly kind?: () => AnyKind;
  /** The name discovery gives, where the body is no kind of the catalog (`PodExecOptions`): the request is a connection. */
  readonly kindName?: string;
  /** What the query may say. */
  readonly options?: () => AnyStruct;
  /** The URL may go on behind the subresource's name. */
  readonly path?: true;
  readonly verbs: readonly Verb[];
}

/** Where a kind keeps its size, for the `scale` subresource. Paths such as "spec.replicas". */
export interface ScalePaths {
  readonly replicas: string;
  readonly current: string;
  /** A label selector, or a plain map of labels, or the text of a selector. */
  readonly selector?: string;
  /** Whether the size is only there where someone has written it, so that an object without has no scale to read. */
  readonly isWritten?: true;
}

export interface KindRules<F extends Fields> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  /** Defaults to the kind in lower case. */
  readonly singular?: string;
  /** Defaults to the kind with "List" behind it. */
  readonly listKind?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly scope: "Namespaced" | "Cluster";
  readonly doc: string;
  readonly fields: F;
  /** Defaults to all eight. */
  readonly verbs?: readonly Verb[];
  /** A deletion is answered with the object, not with a Status. */
  readonly returnsDeleted?: true;
  /** A deprecation warning that is sent with every response. */
  readonly deprecated?: { readonly since: string; readonly use?: string } | { readonly warning: string };
  /** False for what is answered and forgotten, like access reviews. */
  readonly stored?: false;
  /** The version that upstream stores, where it is not this one: clients see its hash in discovery. */
  readonly storageVersion?: string;
  /** `status: true` and `scale` are understood everywhere; the others are served by code of their own. */
  readonly subresources?: { readonly status?: true; readonly scale?: ScalePaths } & {
    readonly [name: string]: true | ScalePaths | Subresource | undefined;
  };
  /** Defaults to name and creation time. */
  readonly columns?: readonly Column<ObjectOf<F>>[];
  rowConditions?(object: ObjectOf<F>): readonly RowCondition[];
  /** Fields a field selector may name, besides metadata.name and metadata.namespace. */
  readonly selectableFields?: Readonly<Record<string, (object: ObjectOf<F>) => string>>;
  /** What a name must look like; defaults to a DNS subdomain. Some names follow from what the object says. */
  nameFormat?(name: string, object: ObjectOf<F>): readonly string[];
  /** Conditional defaults; see StructRules. */
  complete?(object: Mutable<ObjectOf<F>>): void;
  /** The order in which problems are reported; see StructRules. */
  readonly problemOrder?: string;
  /** Problems of a create (no `old`) or an update of the object, beyond those of the single fields. */
  check?(object: ObjectOf<F>, old: ObjectOf<F> | undefined): Iterable<Problem>;
  /** Problems of an update through the status subresource. */
  checkStatus?(object: ObjectOf<F>, old: ObjectOf<F>): Iterable<Problem>;
  /** Finalizers need not say who is to remove them. */
  readonly anyFinalizers?: boolean;
  /** What objects of the kind are; defaults to what follows from the fields. */
  readonly model?: ObjectModel;
  /** Of a kind that a client found out about: nothing but the metadata of its objects is known here, and asked for. */
  readonly metadataOnly?: true;
  /** Set when another version of the kind is the one that is stored. */
  readonly convert?: Conversion<ObjectOf<F>>;
  /** Set, in all versions, when each version has rules of its own: objects are then checked in the version they are written in. */
  readonly peers?: PeerVersions;
}

/** How objects of this version become objects of the stored version, and back. What one side cannot say goes into annotations, as upstream does it. */
export interface Conversion<O> {
  readonly to: () => AnyKind;
  toStored(object: O): Readonly<Record<string, unknown>>;
  fromStored(stored: Readonly<Record<string, any>>): Readonly<Record<string, unknown>>;
}

/** What makes objects of any other version of the kind ones of this version. Where another program does it, it does so instead of the above. */
export interface PeerVersions {
  /** Whether another program is asked: then objects that were stored in a former version are kept as they are until they are read. */
  readonly isRemote: boolean;
  /** In their order. Throws ApiError. */
  adopt(objects: readonly Readonly<Record<string, unknown>>[]): Soon<readonly Readonly<Record<string, unknown>>[]>;
}

export interface Kind<F extends Fields> extends KindRules<F> {
  readonly singular: string;
  readonly listKind: string;
  readonly verbs: readonly Verb[];
  /** "apps/v1", or "v1" for the core group. */
  readonly apiVersion: string;
  /** The object with apiVersion, kind and metadata. */
  readonly struct: Struct<ObjectFields & F>;
  readonly model: ObjectModel;
}

export type AnyKind = Kind<any>;

export function resource<const F extends Readonly<Record<string, Field<any, boolean>>>>(rules: KindRules<F>): Kind<F> {
  const { group, version, kind } = rules;
  const whole = struct(
    `${packageOf(group)}/${version}.${kind}`,
    { ...objectFields, ...rules.fields },
    structRules(rules),
  );
  return {
    ...rules,
    singular: rules.singular ?? kind.toLowerCase(),
    listKind: rules.listKind ?? `${kind}List`,
    verbs: rules.verbs ?? allVerbs,
    apiVersion: group === "" ? version : `${group}/${version}`,
    anyFinalizers: rules.anyFinalizers ?? freelyFinalized.has(group),
    struct: whole,
    model: rules.model ?? declared(whole, Object.keys(rules.fields)),
  };
}

/** The groups whose kinds upstream checks in its libraries, which know no standard finalizers. */
const freelyFinalized: ReadonlySet<string> = new Set([
  "admissionregistration.k8s.io",
  "apiextensions.k8s.io",
  "apiregistration.k8s.io",
]);

/** The subresources with `status: true` and `scale` written out; the latter speaks `Scale`. */
export function subresourcesOf(kind: AnyKind, Scale: AnyKind): Readonly<Record<string, Subresource>> {
  const verbs: readonly Verb[] = ["get", "patch", "update"];
  const entries = Object.entries(kind.subresources ?? {}).flatMap(([name, one]): [string, Subresource][] => {
    if (one === undefined) return [];
    if (one === true) return [[name, { verbs }]];
    return [[name, "verbs" in one ? one : { kind: () => Scale, verbs }]];
  });
  return Object.fromEntries(entries);
}

/** The Go package upstream keeps a group in: "rbac.authorization.k8s.io" is in "rbac". */
const packageOf = (group: string): string => (group === "" ? "core" : (group.split(".")[0] as string));

function structRules<F extends Fields>(rules: KindRules<F>): StructRules<ObjectFields & F> {
  const { doc, complete, check, problemOrder, model } = rules;
  const jsonOnly = model?.publication.protobuf === false;
  return {
    doc,
    ...(jsonOnly && { jsonOnly }),
    ...(complete && { complete: complete as any }),
    ...(check && { check: check as any }),
    ...(problemOrder && { problemOrder }),
  };
}
