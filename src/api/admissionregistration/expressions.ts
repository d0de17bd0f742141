// The expressions of admission: which names they may use, and which results they must have. Those of webhooks, of policies that validate
// and of policies that mutate differ in little. Follows apiserver/pkg/admission/plugin/cel/compile.go and composition.go upstream.
import { structTypes } from "#schema/cel/declarations.ts";
import { type CelEnvironment, CompilationError, type Program } from "#schema/cel/environment.ts";
import { kubernetesEnvironment } from "#schema/cel/kubernetes.ts";
import { authorizerType, resourceCheckType } from "#schema/cel/libraries/authorization.ts";
import { jsonPatch } from "#schema/cel/libraries/json-patch.ts";
import { type DeclaredType, structsOf } from "#schema/cel/schema-types.ts";
import {
  boolType,
  type CelType,
  dynType,
  formatType,
  intType,
  isSameType,
  listType,
  mapType,
  nullType,
  type StructTypes,
  stringType,
  structType,
  timestampType,
} from "#schema/cel/types.ts";
import { fail } from "#schema/cel/values/failure.ts";
import type { MapValue } from "#schema/cel/values/map.ts";
import type { CelValue } from "#schema/cel/values/value.ts";

/** What an expression may use besides `object`, `oldObject`, `request` and `namespaceObject`. */
export interface ExpressionScope {
  readonly hasParams: boolean;
  readonly hasAuthorizer: boolean;
  /** `Object{…}` and `JSONPatch{…}`. */
  readonly hasPatches?: boolean;
  /** The variables before it, by name; absent where there are none at all. */
  readonly variables?: ReadonlyMap<string, CelType> | undefined;
}

/** The results that an expression may have; none named means any. */
export const results = {
  condition: [boolType],
  message: [stringType],
  annotation: [stringType, nullType],
  applyConfiguration: [structType("Object")],
  jsonPatch: [listType(structType("JSONPatch"))],
  variable: [],
} as const satisfies Readonly<Record<string, readonly CelType[]>>;

/** Throws CompilationError, whose message is what the field of the expression is refused with. */
export function compileExpression(source: string, scope: ExpressionScope, types: readonly CelType[]): Program {
  let program: Program;
  try {
    program = environmentOf(scope, source).compile(source);
  } catch (error) {
    if (!(error instanceof CompilationError) || error.problems.length === 0) throw error;
    throw new CompilationError(`compilation failed: ${error.message}`, error.problems);
  }
  const { resultType } = program;
  if (types.length === 0 || types.some((type) => isSameType(type, resultType))) return program;
  const names = types.map(formatResult);
  throw new CompilationError(
    `must evaluate to ${names.length === 1 ? names[0] : `one of [${names.join(" ")}]`} but got ${formatResult(resultType)}`,
  );
}

/** What is known of the types in an expression when it is checked against schemas. */
export interface ExpressionTypes {
  /** Of `object` and `oldObject`; they may be anything where it is not known. */
  readonly object: DeclaredType | undefined;
  readonly params: DeclaredType | undefined;
  readonly hasParams: boolean;
  readonly variables: ReadonlyMap<string, CelType>;
}

/** The type of an expression's result. Throws CompilationError. */
export function checkExpressionTypes(source: string, types: ExpressionTypes): CelType {
  const { object, params, hasParams, variables } = types;
  const base = environmentOf({ hasParams, hasAuthorizer: true, variables }, source);
  const known = [object, params].filter((one) => one !== undefined).map(structsOf);
  const own = structTypes(new Map([[variablesType.name, variables]]));
  const checked = base.extend({
    variables: new Map([
      ["object", object?.type ?? dynType],
      ["oldObject", object?.type ?? dynType],
      ...(hasParams ? [["params", params?.type ?? dynType] as const] : []),
    ]),
    structs: known.reduce(both, both(requestStructs, own)),
  });
  return checked.compile(source).resultType;
}

/** The names of types as cel-go prints them, which are not always those of its errors. */
const formatResult = (type: CelType): string => (type.kind === "null" ? type.name : formatType(type));

const bases = new Map<string, CelEnvironment>();

function environmentOf(scope: ExpressionScope, source: string): CelEnvironment {
  const key = `${scope.hasParams} ${scope.hasAuthorizer} ${scope.hasPatches ?? false}`;
  const base = bases.get(key) ?? baseOf(scope);
  bases.set(key, base);
  const { variables } = scope;
  if (!variables) return base;
  return base.extend({
    ...(scope.hasPatches && { types: patchTypes(source) }),
    variables: new Map([["variables", variablesType]]),
    structs: both(knownStructs(scope.hasPatches ?? false), structTypes(new Map([[variablesType.name, variables]]))),
  });
}

export const variablesType = structType("kubernetes.variables");

function baseOf({ hasParams, hasAuthorizer, hasPatches = false }: ExpressionScope): CelEnvironment {
  const variables = new Map<string, CelType>([
    ["object", dynType],
    ["oldObject", dynType],
    ["namespaceObject", structType("kubernetes.Namespace")],
    ["request", structType("kubernetes.AdmissionRequest")],
    ...(hasParams ? [["params", dynType] as const] : []),
    ...(hasAuthorizer
      ? [["authorizer", authorizerType] as const, ["authorizer.requestResource", resourceCheckType] as const]
      : []),
  ]);
  return kubernetesEnvironment().extend({
    variables,
    structs: knownStructs(hasPatches),
    ...(hasPatches && { libraries: [jsonPatch], makeStruct: (name, fields) => new MadeStruct(name, fields) }),
  });
}

const both = (a: StructTypes, b: StructTypes): StructTypes => ({
  has: (struct) => a.has(struct) || b.has(struct),
  field: (struct, field) => (a.has(struct) ? a.field(struct, field) : b.field(struct, field)),
});

const knownStructs = (hasPatches: boolean): StructTypes =>
  hasPatches ? both(requestStructs, patchStructs) : requestStructs;

const fieldsOf = (...fields: readonly (readonly [string, CelType])[]): ReadonlyMap<string, CelType> => new Map(fields);
const texts = (...names: readonly string[]) => names.map((name) => [name, stringType] as const);
const textMap = mapType(stringType, stringType);

const requestStructs = structTypes(
  new Map([
    [
      "kubernetes.AdmissionRequest",
      fieldsOf(
        ["kind", structType("kubernetes.GroupVersionKind")],
        ["resource", structType("kubernetes.GroupVersionResource")],
        ["requestKind", structType("kubernetes.GroupVersionKind")],
        ["requestResource", structType("kubernetes.GroupVersionResource")],
        ...texts("subResource", "requestSubResource", "name", "namespace", "operation"),
        ["userInfo", structType("kubernetes.UserInfo")],
        ["dryRun", boolType],
        ["options", dynType],
      ),
    ],
    ["kubernetes.GroupVersionKind", fieldsOf(...texts("group", "version", "kind"))],
    ["kubernetes.GroupVersionResource", fieldsOf(...texts("group", "version", "resource"))],
    [
      "kubernetes.UserInfo",
      fieldsOf(
        ...texts("username", "uid"),
        ["groups", listType(stringType)],
        ["extra", mapType(stringType, listType(stringType))],
      ),
    ],
    [
      "kubernetes.Namespace",
      fieldsOf(
        ["metadata", structType("kubernetes.NamespaceMetadata")],
        ["spec", structType("kubernetes.NamespaceSpec")],
        ["status", structType("kubernetes.NamespaceStatus")],
      ),
    ],
    [
      "kubernetes.NamespaceMetadata",
      fieldsOf(
        ...texts("name", "generateName", "namespace", "UID", "resourceVersion"),
        ["labels", textMap],
        ["annotations", textMap],
        ["creationTimestamp", timestampType],
        ["deletionGracePeriodSeconds", intType],
        ["deletionTimestamp", timestampType],
        ["generation", intType],
        ["finalizers", listType(stringType)],
      ),
    ],
    ["kubernetes.NamespaceSpec", fieldsOf(["finalizers", listType(stringType)])],
    [
      "kubernetes.NamespaceStatus",
      fieldsOf(["conditions", listType(structType("kubernetes.NamespaceCondition"))], ["phase", stringType]),
    ],
    [
      "kubernetes.NamespaceCondition",
      fieldsOf(...texts("status", "type", "message", "reason"), ["lastTransitionTime", timestampType]),
    ],
  ]),
);

const patchFields = fieldsOf(...texts("op", "path", "from"), ["value", dynType]);
/** There is an `Object.a.b` for every path, so those count as declared that an expression writes. */
const patchTypes = (source: string): readonly CelType[] => {
  const written = source.matchAll(/\bObject(?:\s*\.\s*[A-Za-z_]\w*)*(?=\s*\{)/g);
  const names = new Set([...written].map(([name]) => name.replace(/\s+/g, "")));
  return [...names, "JSONPatch"].map(structType);
};
const isObjectName = (name: string): boolean => name === "Object" || name.startsWith("Object.");

/** Objects are of no known schema: any field may be written, and is checked when the patch is applied. */
const patchStructs: StructTypes = {
  has: (struct) => struct === "JSONPatch" || isObjectName(struct),
  field: (struct, field) => (struct === "JSONPatch" ? patchFields.get(field) : dynType),
};

/** An `Object{…}` or a `JSONPatch{…}`. */
export class MadeStruct implements MapValue {
  readonly kind = "map";
  readonly type: CelType;
  readonly fields: ReadonlyMap<string, CelValue>;

  constructor(name: string, fields: ReadonlyMap<string, CelValue>) {
    this.type = structType(name);
    this.fields = fields;
    if (name !== "JSONPatch") return;
    for (const field of ["op", "path", "from"])
      if (typeof (fields.get(field) ?? "") !== "string") fail(`unexpected type for JSONPatchType '${field}' field`);
  }

  get size(): number {
    return this.fields.size;
  }

  find(key: CelValue): CelValue | undefined {
    return typeof key === "string" ? this.fields.get(key) : undefined;
  }

  keys(): Iterable<CelValue> {
    return this.fields.keys();
  }
}
