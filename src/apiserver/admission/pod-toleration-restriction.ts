// Upstream: plugin/pkg/admission/podtolerationrestriction/admission.go.
import { Toleration } from "#api/core/v1/affinity.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { qosClassOf } from "#api/core/v1/qos.ts";
import { ApiError } from "#base/errors.ts";
import { decodeValue } from "#schema/decode.ts";
import { DecodeError, parseJson } from "#schema/json.ts";
import { notFound } from "#wire/status.ts";
import { type AdmissionPlugin, type AdmissionRefusal, type AdmissionRequest, admissionPlugin, find } from "./plugin.ts";
import { covers, mergeTolerations } from "./tolerations.ts";

/** What holds for namespaces that say nothing themselves. */
export interface PodTolerationConfiguration {
  readonly defaults: readonly Toleration[];
  readonly whitelist: readonly Toleration[];
}

const defaultsAnnotation = "scheduler.alpha.kubernetes.io/defaultTolerations";
const whitelistAnnotation = "scheduler.alpha.kubernetes.io/tolerationsWhitelist";
const memoryPressure = { key: "node.kubernetes.io/memory-pressure", operator: "Exists", effect: "NoSchedule" } as const;

/** Pods of a namespace have the tolerations that its annotations give, and only those that they allow. */
export const podTolerationRestriction = ({ defaults, whitelist }: PodTolerationConfiguration): AdmissionPlugin => {
  const judge = async (
    asked: Pick<AdmissionRequest<Pod>, "object" | "namespace" | "server" | "signal">,
  ): Promise<AdmissionRefusal> => {
    const { tolerations = [] } = asked.object.spec;
    if (tolerations.length === 0) return undefined;
    const own = tolerationsIn(await namespaceOf(asked), whitelistAnnotation);
    const allowed = own ?? whitelist;
    if (allowed.length === 0 || tolerations.every((one) => allowed.some((other) => covers(other, one))))
      return undefined;
    const scope = own ? "namespace" : "cluster";
    throw plain(
      `pod tolerations (possibly merged with namespace default tolerations) conflict with its ${scope} whitelist`,
    );
  };
  return admissionPlugin({
    name: "PodTolerationRestriction",
    on: { kind: Pod, verbs: ["create", "update"] },
    async mutate(asked) {
      const { object: pod, operation } = asked;
      const given = operation === "create" ? tolerationsIn(await namespaceOf(asked), defaultsAnnotation) : [];
      const extra = [...(given ?? defaults), ...(qosClassOf(pod.spec) === "BestEffort" ? [] : [memoryPressure])];
      if (extra.length > 0)
        pod.spec.tolerations = mergeTolerations(pod.spec.tolerations ?? [], extra).map((one) => ({ ...one }));
      return judge(asked);
    },
    validate: judge,
  });
};

async function namespaceOf(asked: Pick<AdmissionRequest<unknown>, "namespace" | "server" | "signal">) {
  const { namespace } = asked;
  const found = await find(asked, Namespace, namespace);
  if (!found) throw notFound({ group: "", resource: "namespaces" }, namespace);
  return found;
}

/** Undefined if the namespace has no such annotation; an empty one means none. */
function tolerationsIn({ metadata }: Namespace, annotation: string): readonly Toleration[] | undefined {
  const text = metadata.annotations?.[annotation];
  if (text === undefined || text === "") return text === undefined ? undefined : [];
  try {
    const { value } = parseJson(text);
    if (!Array.isArray(value)) throw new DecodeError(`${annotation} is not a list`);
    return value.map((one) => decodeValue(Toleration, one).object as Toleration);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw plain(error.message);
  }
}

/** Upstream answers these as errors of the server, not as refusals. */
const plain = (message: string): ApiError => new ApiError({ code: 500, reason: "", message });
