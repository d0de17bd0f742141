import assert from "node:assert/strict";
import { test } from "node:test";
import type { NodeSelectorTerm, Toleration } from "#api/core/v1/affinity.ts";
import { nodeSelector, requiredNodes } from "./node-selection.ts";
import { tolerates, untoleratedTaint } from "./tolerations.ts";

const labels = { zone: "a", cores: "8", empty: "" };
const node = { name: "n1", labels };

test("a term of a node selector holds if all of its requirements do", () => {
  const rows: readonly [NodeSelectorTerm, boolean][] = [
    [{}, false],
    [{ matchExpressions: [{ key: "zone", operator: "In", values: ["a", "b"] }] }, true],
    [{ matchExpressions: [{ key: "zone", operator: "NotIn", values: ["a"] }] }, false],
    [{ matchExpressions: [{ key: "other", operator: "NotIn", values: ["a"] }] }, true],
    [{ matchExpressions: [{ key: "empty", operator: "Exists" }] }, true],
    [{ matchExpressions: [{ key: "other", operator: "DoesNotExist" }] }, true],
    [{ matchExpressions: [{ key: "cores", operator: "Gt", values: ["7"] }] }, true],
    [{ matchExpressions: [{ key: "cores", operator: "Lt", values: ["8"] }] }, false],
    [{ matchExpressions: [{ key: "cores", operator: "Gt", values: ["many"] }] }, false],
    [{ matchExpressions: [{ key: "zone", operator: "Like" as "In", values: ["a"] }] }, false],
    [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["n1"] }] }, true],
    [{ matchFields: [{ key: "metadata.name", operator: "NotIn", values: ["n1"] }] }, false],
    [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["n1", "n2"] }] }, false],
    [{ matchFields: [{ key: "metadata.name", operator: "Exists" }] }, false],
    [
      {
        matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }],
        matchFields: [{ key: "metadata.name", operator: "In", values: ["n2"] }],
      },
      false,
    ],
  ];
  for (const [term, holds] of rows)
    assert.equal(nodeSelector({ nodeSelectorTerms: [term] })(node), holds, JSON.stringify(term));
  const byName = { matchFields: [{ key: "metadata.name", operator: "In" as const, values: ["n2"] }] };
  assert.equal(nodeSelector({ nodeSelectorTerms: [byName] })({ labels }), true, "whose name is not told");
});

test("a pod asks for nodes by selector and by affinity, of which one term must hold", () => {
  const affinity = (...terms: NodeSelectorTerm[]) => ({
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } },
  });
  const inZone = (zone: string) => ({ matchExpressions: [{ key: "zone", operator: "In" as const, values: [zone] }] });
  assert.equal(requiredNodes({}), undefined, "any will do");
  assert.equal(requiredNodes({ nodeSelector: { zone: "b" } })?.(node), false);
  assert.equal(requiredNodes({ affinity: affinity() })?.(node), false);
  assert.equal(requiredNodes({ affinity: affinity(inZone("b"), inZone("a")) })?.(node), true);
  assert.equal(requiredNodes({ nodeSelector: { zone: "a" }, affinity: affinity(inZone("b")) })?.(node), false);
});

test("a toleration is about taints of its key, value and effect", () => {
  const taint = { key: "disk", value: "slow", effect: "NoSchedule" } as const;
  const rows: readonly [Toleration, boolean][] = [
    [{ operator: "Exists" }, true],
    [{ key: "disk", operator: "Exists" }, true],
    [{ key: "cpu", operator: "Exists" }, false],
    [{ key: "disk", operator: "Exists", effect: "NoExecute" }, false],
    [{ key: "disk", operator: "Equal", value: "slow", effect: "NoSchedule" }, true],
    [{ key: "disk", value: "slow" }, true],
    [{ key: "disk", value: "fast" }, false],
    [{ key: "disk" }, false],
    [{ key: "disk", operator: "Gt", value: "1" }, false],
  ];
  for (const [toleration, is] of rows) assert.equal(tolerates(toleration, taint), is, JSON.stringify(toleration));
  assert.equal(tolerates({ key: "disk" }, { key: "disk", effect: "NoSchedule" }), true);
});

test("of the taints only those with the given effects count", () => {
  const soft = { key: "a", effect: "PreferNoSchedule" } as const;
  const hard = { key: "b", effect: "NoExecute" } as const;
  assert.equal(untoleratedTaint([soft, hard], undefined, ["NoSchedule", "NoExecute"]), hard);
  assert.equal(untoleratedTaint([soft, hard], [{ operator: "Exists" }], ["NoExecute"]), undefined);
  assert.equal(untoleratedTaint(undefined, [], ["NoExecute"]), undefined);
});
