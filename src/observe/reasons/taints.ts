// Which taints keep a pod away from nodes, and what can be done about each. The scheduler only says that there are some.
import type { Node } from "#api/core/v1/node.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { requiredNodes, selectable } from "#rules/node-selection.ts";
import { isTolerated } from "#rules/tolerations.ts";
import { type Evidence, namesText } from "./reason.ts";

type Taint = NonNullable<Node["spec"]["taints"]>[number];

const keepsAway = ({ effect }: Taint): boolean => effect === "NoSchedule" || effect === "NoExecute";

export const taintText = ({ key, value, effect }: Taint): string => `${key}${value ? `=${value}` : ""}:${effect}`;

/** The taints of a node that keep away whatever does not tolerate them. */
export const hardTaints = ({ spec }: Node): readonly Taint[] => (spec.taints ?? []).filter(keepsAway);

/** Those that Kubernetes sets itself: they say what is wrong with the node, and go with it. */
const isOwn = ({ key }: Taint): boolean => key.startsWith("node.kubernetes.io/");

export interface TaintTrouble {
  readonly evidence: readonly Evidence[];
  readonly remedies: readonly string[];
}

export const noTrouble: TaintTrouble = { evidence: [], remedies: [] };

/** Where the nodes cannot be read: the scheduler does not name the taints. */
const unnamed: TaintTrouble = {
  evidence: [],
  remedies: ["see the taints of the nodes (kubectl describe nodes), and tolerate them in the pod or take them away"],
};

export const labelRemedy = "label a node as nodeSelector or affinity ask for, or ask for less";

/** The scheduler looks at taints first: it does not say that these nodes have not the right labels, either. */
const unlabelled: TaintTrouble = {
  evidence: [{ from: "nodeSelector and affinity", says: "no node has the labels that they ask for" }],
  remedies: [labelRemedy],
};

/** For a pod that the scheduler cannot place: the taints in its way, on the nodes that it asks for. */
export function taintTrouble(pod: Pod, nodes: readonly Node[]): TaintTrouble {
  if (nodes.length === 0) return unnamed;
  const wants = requiredNodes(pod.spec) ?? (() => true);
  const wanted = nodes.filter((node) => wants(selectable(node)));
  if (wanted.length === 0) return unlabelled;
  const found = wanted.flatMap((node) =>
    hardTaints(node)
      .filter((taint) => !isTolerated(taint, pod.spec.tolerations ?? []))
      .map((taint) => ({ taint, text: taintText(taint), node: node.metadata.name })),
  );
  const alike = [...Map.groupBy(found, ({ text }) => text)];
  return {
    evidence: alike.map(([text, all]) => ({
      from: `taint ${text}`,
      says: `is on ${namesText(all.map(({ node }) => node))}, and the pod does not tolerate it`,
    })),
    remedies: alike.flatMap(([text, all]) => {
      const [first] = all;
      if (!first) return [];
      return isOwn(first.taint)
        ? [`see what is wrong with the node: knarr why node/${first.node}`]
        : [
            `tolerate the taint ${text} in the pod's spec.tolerations, or take it from a node: kubectl taint nodes ${first.node} ${text}-`,
          ];
    }),
  };
}
