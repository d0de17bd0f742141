// The model of objects whose schema comes at run time, as that of a CustomResourceDefinition does. Nothing that the schema keeps is
// dropped, and nothing is the same as absent but what is absent: Go's rules for structs hold in metadata only.

import { shapeOf } from "../apply/declared.ts";
import { objectShape } from "../apply/json-schema.ts";
import type { JsonMap } from "../apply/value.ts";
import { type Decoded, withDuplicates } from "../decode.ts";
import { applyDefaults } from "../defaults.ts";
import { DecodeError, parseJson } from "../json.ts";
import type { ObjectModel } from "../model.ts";
import { ObjectMeta } from "../object-meta.ts";
import { addProblems, invalid, type Problem, type ProblemType } from "../problem.ts";
import { checkValue } from "./check.ts";
import { applyNodeDefaults } from "./defaults.ts";
import { exactValue } from "./exact-integers.ts";
import { validateListTypes } from "./list-types.ts";
import { pruneNulls, pruneObject, resourceFields } from "./prune.ts";
import { readJson } from "./read.ts";
import { decodeEmbedded, decodeRoot, ensureMetadata, validateEmbedded } from "./resource.ts";
import { type Rules, ruleWalk } from "./rules.ts";
import { isMap, readSchema } from "./schema.ts";

export interface StructuralOptions {
  /** What decides by the rules in `x-kubernetes-validations`; without it they are not asked. */
  readonly rules?: Rules;
  /** Problems that no schema can tell of, such as those of the fields that `scale` reads. They come after those of the schema. */
  check?(object: JsonMap, old: JsonMap | undefined): Iterable<Problem>;
}

export function structural(schema: JsonMap, options: StructuralOptions = {}): ObjectModel {
  const root = readSchema(schema);
  const status = root.properties.get("status");
  const walk = options.rules && ruleWalk(root, options.rules);
  const shape = () => objectShape(schema, shapeOf(ObjectMeta));
  let compiledShape: ReturnType<typeof shape> | undefined;

  const decode = (value: unknown): Decoded & { readonly keys: number } => {
    const { value: read, keys } = readJson(value ?? {});
    if (!isMap(read)) throw noObject(read);
    const inMetadata: string[] = [];
    const pruned: string[] = [];
    const embedded: string[] = [];
    const named = decodeRoot(read, inMetadata);
    const known = pruneNulls(pruneObject(root, named, pruned), root);
    const object = decodeEmbedded(known, root, "", embedded) as Record<string, unknown>;
    const unknown = [...inMetadata, ...pruned.sort(), ...embedded.sort()].slice(0, mostUnknown);
    return { object, keys, strictErrors: unknown.map((path) => `unknown field "${path}"`) };
  };

  /** Upstream asks no rules of an object that is not even of the right types. */
  const addRuleProblems = (object: JsonMap, old: JsonMap | undefined, problems: Problem[]): void => {
    if (!walk) return;
    if (problems.some(({ type }) => blocking.has(type))) problems.push(invalid("<nil>", unchecked, null));
    else walk(object, old, problems);
  };

  return {
    fieldNames: [...root.properties.keys()].filter((name) => !resourceFields.has(name)),
    fieldsOf: (...objects) => [
      ...new Set(objects.flatMap((object) => Object.keys(object)).filter((name) => !resourceFields.has(name))),
    ],
    keepsInt64: true,
    decodeParsed(text, { value, keys }) {
      const decoded = decode(exactValue(text, value));
      return decoded.keys === keys ? decoded : withDuplicates(text, decoded);
    },
    decodeValue: decode,
    parse: (text) => exactValue(text, parseJson(text).value) as object,
    applyDefaults(object) {
      applyNodeDefaults(object, root);
      ensureMetadata(object as Record<string, unknown>);
      applyDefaults(ObjectMeta, (object as { readonly metadata: object }).metadata);
    },
    validate(object, old, problems) {
      addProblems(problems, checkValue(root, object, "", old && { old }));
      if (options.check) addProblems(problems, options.check(object, old));
      validateEmbedded(object, root, "", problems);
      if (old === undefined || !repeatsItems(old)) validateListTypes(object, root, "", problems);
      addRuleProblems(object, old, problems);
    },
    validateStatus(object, old, problems) {
      if (status && Object.hasOwn(object, "status"))
        addProblems(problems, checkValue(status, object.status, "status", { old: old.status }));
      if (options.check) addProblems(problems, options.check(object, old));
      if (status) validateEmbedded(object.status, status, "status", problems);
      if (!repeatsItems(old)) validateListTypes(object, root, "", problems);
      addRuleProblems(object, old, problems);
    },
    get shape() {
      compiledShape ??= shape();
      return compiledShape;
    },
    zero: {},
    completed: (object) => object,
    publication: {
      schema,
      definitionName: ({ group, version, kind }) => [...group.split(".").toReversed(), version, kind].join("."),
      protobuf: false,
      strategicPatch: false,
      watchPaths: false,
      defaultsItems: false,
      tellsSelectableFields: true,
      abbreviatesKinds: false,
    },
  };

  /** An object that broke the rules of its lists before they were made may go on to do so. */
  function repeatsItems(old: JsonMap): boolean {
    const problems: Problem[] = [];
    validateListTypes(old, root, "", problems);
    return problems.length > 0;
  }
}

/** Of one kind of decoder; upstream tells all that its pruning finds, which may be as many as a body has fields. */
const mostUnknown = 100;

const blocking: ReadonlySet<ProblemType> = new Set(["NotSupported", "Required", "TooLong", "TooMany", "TypeInvalid"]);
const unchecked =
  "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

function noObject(value: unknown): DecodeError {
  const is = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
  const type = "map[string]interface {}";
  return new DecodeError(`json: cannot unmarshal ${is} into Go value of type ${type}`, "", {
    mismatch: { value, type },
  });
}
