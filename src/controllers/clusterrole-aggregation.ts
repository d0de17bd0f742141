// Fills cluster roles that aggregate others: admin, edit and view get the rules of every role with a matching label.
// Upstream: pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go.
import { ClusterRole } from "#api/rbac/v1/cluster-role.ts";
import type { PolicyRule } from "#api/rbac/v1/policy-rule.ts";
import { equal } from "#base/collections.ts";
import { index } from "#client/cache.ts";
import { controller, watching } from "#client/controller.ts";
import { selectorMatcher } from "#schema/selector.ts";

/** The aggregating roles, of which there are few. */
const aggregated = index(ClusterRole, ({ aggregationRule }) => (aggregationRule ? ["yes"] : []));

export const clusterRoleAggregationController = controller({
  name: "clusterrole-aggregation",
  queue: "ClusterRoleAggregator",
  for: ClusterRole,
  watches: [
    watching(
      ClusterRole,
      (_role, cache) => cache.by(aggregated, "yes").map(({ metadata }) => metadata),
      (old, role) => !equal(old.rules, role.rules) || !equal(old.metadata.labels, role.metadata.labels),
    ),
  ],

  async reconcile({ metadata: { name }, aggregationRule, rules }, { client, cache }) {
    if (!aggregationRule) return;
    const others = cache
      .list(ClusterRole)
      .filter(({ metadata }) => metadata.name !== name)
      .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    const wanted = distinct(
      (aggregationRule.clusterRoleSelectors ?? []).flatMap((selector) => {
        const isSelected = selectorMatcher(selector);
        return others.filter(({ metadata }) => isSelected(metadata.labels)).flatMap((role) => role.rules ?? []);
      }),
    );
    if (equal(wanted, rules ?? [])) return;
    const { apiVersion, kind } = ClusterRole;
    const options = { fieldManager: "clusterrole-aggregation-controller", force: true };
    await client.patch(
      ClusterRole,
      { name },
      "apply",
      { apiVersion, kind, metadata: { name }, rules: wanted },
      options,
    );
  },
});

/** The rules without repetitions, in the order in which they first appear. */
function distinct(rules: readonly PolicyRule[]): readonly PolicyRule[] {
  const seen = new Map<string, PolicyRule>();
  for (const rule of rules) {
    const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = rule;
    const key = JSON.stringify([verbs, apiGroups, resources, resourceNames, nonResourceURLs]);
    if (!seen.has(key)) seen.set(key, rule);
  }
  return [...seen.values()];
}
