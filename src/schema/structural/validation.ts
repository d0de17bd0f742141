// The validation of an object of a schema, in upstream's order
// (apiextensions-apiserver/pkg/registry/customresource/{strategy,status_strategy}.go).
import type { JsonMap } from "../apply/value.ts";
import type { WarnOfProblem } from "../model.ts";
import { addProblems, invalid, type Problem, type ProblemType } from "../problem.ts";
import { checkValue, mostText } from "./check.ts";
import { validateListTypes } from "./list-types.ts";
import { validateEmbedded } from "./resource.ts";
import { type Rules, ruleWalk } from "./rules.ts";
import type { SchemaNode } from "./schema.ts";

export interface ValidationOptions {
  /** What decides by the rules in `x-kubernetes-validations`; without it they are not asked. */
  readonly rules?: Rules;
  /** Problems that no schema can tell of, such as those of the fields that `scale` reads. They come after those of the schema. */
  check?(object: JsonMap, old: JsonMap | undefined): Iterable<Problem>;
  /** The same, of an update through the status subresource. */
  checkStatus?(object: JsonMap, old: JsonMap): Iterable<Problem>;
}

type AddProblems<Old> = (object: JsonMap, old: Old, problems: Problem[], warn?: WarnOfProblem) => void;

export interface Validation {
  readonly validate: AddProblems<JsonMap | undefined>;
  readonly validateStatus: AddProblems<JsonMap>;
}

export function validationBy(root: SchemaNode, options: ValidationOptions): Validation {
  const status = root.properties.get("status");
  const walk = options.rules && ruleWalk(root, options.rules);

  /** An object that broke the rules of its lists before they were made may go on to do so. */
  const addListProblems: AddProblems<JsonMap | undefined> = (object, old, problems) => {
    const found = listProblems(root, object);
    if (found.length > 0 && (old === undefined || listProblems(root, old).length === 0)) addProblems(problems, found);
  };

  const addRuleProblems: AddProblems<JsonMap | undefined> = (object, old, problems, warn) => {
    if (!walk) return;
    if (problems.some(({ type }) => blocking.has(type))) problems.push(invalid("<nil>", unchecked, null));
    else walk(object, old, problems, warn);
  };

  return {
    validate(object, old, problems, warn) {
      addProblems(problems, checkValue(root, object, "", old && { old }));
      if (options.check) addProblems(problems, options.check(object, old));
      validateEmbedded(object, root, "", problems);
      addListProblems(object, old, problems);
      addRuleProblems(object, old, problems, warn);
      shorten(problems);
    },
    validateStatus(object, old, problems, warn) {
      if (status && Object.hasOwn(object, "status"))
        addProblems(problems, checkValue(status, object.status, "status", { old: old.status }));
      if (options.checkStatus) addProblems(problems, options.checkStatus(object, old));
      addListProblems(object, old, problems);
      addRuleProblems(object, old, problems, warn);
      shorten(problems);
    },
  };
}

function listProblems(root: SchemaNode, object: JsonMap): readonly Problem[] {
  const problems: Problem[] = [];
  validateListTypes(object, root, "", problems);
  return problems;
}

/** Rules are not evaluated for an object with values of the wrong type. */
const blocking: ReadonlySet<ProblemType> = new Set(["NotSupported", "Required", "TooLong", "TooMany", "TypeInvalid"]);
const unchecked =
  "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

/** The most problems that are reported: a long key is part of the path of each problem below it. */
function shorten(problems: Problem[]): void {
  let size = 0;
  const most = problems.findIndex(({ field, detail }) => {
    size += field.length + detail.length;
    return size > mostText;
  });
  if (most > 0) problems.length = most;
}
