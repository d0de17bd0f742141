import { own } from "#base/collections.ts";
import { ageColumn, nameColumn } from "#schema/columns.ts";
import { bool, forbidden, type Infer, int32, invalid, resource, string } from "#schema/index.ts";
import { oneOf } from "../../core/v1/checks/problems.ts";

const highestOfUsers = 1_000_000_000;
const systemClasses: Readonly<Record<string, number>> = {
  "system-cluster-critical": 2 * highestOfUsers,
  "system-node-critical": 2 * highestOfUsers + 1000,
};

/** Why a class is not one of the two that come with every cluster. */
function systemClassProblem(name: string, value: number, globalDefault: boolean): string | undefined {
  const expected = own(systemClasses, name);
  if (expected === undefined) return `${name} is not a known system priority class`;
  if (value !== expected) return `value of ${name} PriorityClass must be ${expected}`;
  return globalDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}

export const PriorityClass = resource({
  group: "scheduling.k8s.io",
  version: "v1",
  kind: "PriorityClass",
  plural: "priorityclasses",
  shortNames: ["pc"],
  scope: "Cluster",
  doc: "A named priority of pods: the more important are scheduled first and may displace the others.",
  fields: {
    value: int32(2, "The priority; higher is more important. Cannot change.").always(),
    globalDefault: bool(3, "Whether pods without a class get this one; at most one class has it."),
    description: string(4, "When to use the class, in words for people."),
    preemptionPolicy: string(5, "Whether pods of the class may displace others.")
      .known("Never", "PreemptLowerPriority")
      .pointer()
      .default("PreemptLowerPriority"),
  },
  columns: [
    nameColumn,
    { name: "Value", type: "integer", doc: "The priority.", cell: ({ value }) => value },
    {
      name: "Global-Default",
      type: "boolean",
      doc: "Whether pods without a class get it.",
      cell: ({ globalDefault }) => globalDefault,
    },
    ageColumn,
    {
      name: "PreemptionPolicy",
      doc: "Whether its pods may displace others.",
      cell: ({ preemptionPolicy }) => preemptionPolicy,
    },
  ],
  *check({ metadata, value, globalDefault, preemptionPolicy }, old) {
    if (old) {
      if (value !== old.value) yield forbidden("value", "may not be changed in an update.");
      if (preemptionPolicy !== old.preemptionPolicy)
        yield invalid("preemptionPolicy", "field is immutable", preemptionPolicy);
      return;
    }
    if (metadata.name?.startsWith("system-")) {
      const problem = systemClassProblem(metadata.name, value, globalDefault === true);
      if (problem)
        yield forbidden(
          "metadata.name",
          `priority class names with 'system-' prefix are reserved for system use only. error: ${problem}`,
        );
    } else if (value > highestOfUsers)
      yield forbidden("value", `maximum allowed value of a user defined priority is ${highestOfUsers}`);
    yield* oneOf("preemptionPolicy", preemptionPolicy, ["PreemptLowerPriority", "Never"]);
  },
});
export interface PriorityClass extends Infer<typeof PriorityClass> {}
