// The schemas and levels that every server has, and that nobody can change: what is exempt, and what catches the rest.

const anything = {
  resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] }],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
};
const group = (name: string) => ({ kind: "Group", group: { name } });

export const mandatoryFlowSchemas: ReadonlyMap<string, object> = new Map<string, object>(
  Object.entries({
    exempt: {
      priorityLevelConfiguration: { name: "exempt" },
      matchingPrecedence: 1,
      rules: [{ subjects: [group("system:masters")], ...anything }],
    },
    "catch-all": {
      priorityLevelConfiguration: { name: "catch-all" },
      matchingPrecedence: 10_000,
      distinguisherMethod: { type: "ByUser" },
      rules: [{ subjects: [group("system:unauthenticated"), group("system:authenticated")], ...anything }],
    },
  }),
);

/** Without `exempt`, which may be changed. */
export const mandatoryPriorityLevels: ReadonlyMap<string, object> = new Map<string, object>(
  Object.entries({
    exempt: { type: "Exempt" },
    "catch-all": {
      type: "Limited",
      limited: { nominalConcurrencyShares: 5, lendablePercent: 0, limitResponse: { type: "Reject" } },
    },
  }),
);
