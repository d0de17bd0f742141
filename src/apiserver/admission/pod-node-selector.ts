// Upstream: plugin/pkg/admission/podnodeselector/admission.go.
import { Namespace } from "#api/core/v1/namespace.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ApiError } from "#base/errors.ts";
import { notFound } from "#wire/status.ts";
import { type AdmissionPlugin, type AdmissionRequest, admissionPlugin, find } from "./plugin.ts";

/** Node selectors by namespace, which pods must keep to, and the one that namespaces without an annotation have. */
export interface PodNodeSelectorConfiguration {
  readonly clusterDefault: string;
  readonly whitelists: Readonly<Record<string, string>>;
}

type Labels = Readonly<Record<string, string>>;
const annotation = "scheduler.alpha.kubernetes.io/node-selector";

/** Pods of a namespace run on the nodes that its annotation chooses. */
export const podNodeSelector = ({ clusterDefault, whitelists }: PodNodeSelectorConfiguration): AdmissionPlugin => {
  const ofNamespace = async (asked: Pick<AdmissionRequest<unknown>, "namespace" | "server" | "signal">) => {
    const { namespace } = asked;
    const found = await find(asked, Namespace, namespace);
    if (!found) throw notFound({ group: "", resource: "namespaces" }, namespace);
    return labelsOf(found.metadata.annotations?.[annotation] ?? clusterDefault);
  };
  const conflict = "pod node label selector conflicts with its namespace node label selector";
  return admissionPlugin({
    name: "PodNodeSelector",
    on: { kind: Pod, verbs: ["create"] },
    async mutate(asked) {
      const { spec } = asked.object;
      const wanted = await ofNamespace(asked);
      if (conflicts(wanted, spec.nodeSelector)) return conflict;
      const merged = { ...wanted, ...spec.nodeSelector };
      if (Object.keys(merged).length > 0) spec.nodeSelector = merged;
      return undefined;
    },
    async validate(asked) {
      const { nodeSelector = {} } = asked.object.spec;
      if (conflicts(await ofNamespace(asked), nodeSelector)) return conflict;
      const allowed = labelsOf(whitelists[asked.namespace] ?? "");
      const isBound = Object.keys(allowed).length > 0;
      return isBound && Object.entries(nodeSelector).some(([key, value]) => allowed[key] !== value)
        ? "pod node label selector labels conflict with its namespace whitelist"
        : undefined;
    },
  });
};

const conflicts = (a: Labels, b: Labels = {}): boolean =>
  Object.entries(b).some(([key, value]) => a[key] !== undefined && a[key] !== value);

/** Reads `a=b,c=d`. */
function labelsOf(selector: string): Labels {
  const labels: Record<string, string> = {};
  for (const label of selector === "" ? [] : selector.split(",")) {
    const [key = "", value, ...more] = label.split("=");
    if (value === undefined || more.length > 0)
      throw new ApiError({ code: 500, reason: "", message: `invalid selector: [${label}]` });
    labels[key.trim()] = value.trim();
  }
  return labels;
}
