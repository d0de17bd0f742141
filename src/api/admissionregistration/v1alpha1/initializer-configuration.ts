// Upstream had this from v1.7 to v1.13: k8s.io/api/admissionregistration/v1alpha1 of those releases.
import { ageColumn, nameColumn } from "#schema/columns.ts";
import { type Infer, invalid, list, type Problem, required, resource, string, struct } from "#schema/index.ts";

const InitializerRule = struct("admissionregistration/v1alpha1.Rule", {
  apiGroups: list(1, "string", "Groups to match; * means any."),
  apiVersions: list(2, "string", "Versions to match; * means any."),
  resources: list(3, "string", "Resources to match, without subresources; * means all."),
});

export const ConfiguredInitializer = struct("admissionregistration/v1alpha1.Initializer", {
  name: string(1, "Name of the initializer, as a domain of three parts or more.").required(),
  rules: list(2, InitializerRule, "The objects that wait for it."),
});
export interface ConfiguredInitializer extends Infer<typeof ConfiguredInitializer> {}

export const InitializerConfiguration = resource({
  group: "admissionregistration.k8s.io",
  version: "v1alpha1",
  kind: "InitializerConfiguration",
  plural: "initializerconfigurations",
  scope: "Cluster",
  doc: "Programs that must have acted on a new object before anybody else sees it.",
  fields: {
    initializers: list(2, ConfiguredInitializer, "The initializers, in the order in which they act.").keyedBy("name"),
  },
  columns: [nameColumn, ageColumn],
  *check({ initializers = [] }): Iterable<Problem> {
    for (const [i, { name, rules = [] }] of initializers.entries()) {
      const at = `initializers[${i}]`;
      if (name.split(".").length < 3)
        yield invalid(`${at}.name`, "should be a domain with at least three segments separated by dots", name);
      for (const [j, rule] of rules.entries()) yield* checkRule(`${at}.rules[${j}]`, rule);
    }
  },
});
export interface InitializerConfiguration extends Infer<typeof InitializerConfiguration> {}

function* checkRule(at: string, rule: Infer<typeof InitializerRule>): Iterable<Problem> {
  for (const part of ["apiGroups", "apiVersions", "resources"] as const) {
    const values = rule[part] ?? [];
    if (values.length === 0) yield required(`${at}.${part}`);
    if (values.length > 1 && values.includes("*"))
      yield invalid(`${at}.${part}`, "if '*' is present, must not specify other values", values);
  }
  for (const [k, name] of (rule.resources ?? []).entries())
    if (name.includes("/")) yield invalid(`${at}.resources[${k}]`, "must not specify subresources", name);
}
