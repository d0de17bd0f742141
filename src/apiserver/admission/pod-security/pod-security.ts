// Pod Security: pods must keep to the level that labels of their namespace name, or to the default.
// Upstream: staging/src/k8s.io/pod-security-admission/admission/admission.go.
import { Namespace } from "#api/core/v1/namespace.ts";
import { Pod } from "#api/core/v1/pod.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import { equal } from "#base/collections.ts";
import { type Soon, soon } from "#base/soon.ts";
import { problemCause } from "#schema/problem.ts";
import { internalError, invalidObject } from "#wire/status.ts";
import {
  type AdmissionPlugin,
  type AdmissionRefusal,
  type AdmissionRequest,
  admissionPlugin,
  find,
  pluginOf,
} from "../plugin.ts";
import type { PodToCheck } from "./check.ts";
import { detailsText, violations } from "./evaluate.ts";
import { exemptionWarning, namespaceWarnings } from "./namespace-warnings.ts";
import { podTemplates } from "./pod-templates.ts";
import {
  allowsEverything,
  compareLevels,
  formatLevel,
  isSame,
  type LabelledPolicy,
  type Policy,
  policyOf,
} from "./policy.ts";

export interface PodSecurityConfiguration {
  readonly defaults: Policy;
  readonly exemptions: {
    readonly usernames: readonly string[];
    readonly namespaces: readonly string[];
    readonly runtimeClasses: readonly string[];
  };
}

const name = "PodSecurity";

/** What the audit log is told, by upstream's keys. */
const annotations = {
  exempt: "pod-security.kubernetes.io/exempt",
  enforced: "pod-security.kubernetes.io/enforce-policy",
  violations: "pod-security.kubernetes.io/audit-violations",
  error: "pod-security.kubernetes.io/error",
} as const;

const problemsText = (problems: LabelledPolicy["problems"]): string =>
  problems.map((problem) => `${problem.field}: ${problemCause(problem).message}`).join(", ");

export function podSecurity(configuration: PodSecurityConfiguration): AdmissionPlugin {
  const levels = new Levels(configuration);
  return pluginOf(name, podPlugin(levels), ...makerPlugins(levels), namespacePlugin(configuration));
}

/** Which level holds where, and whether a pod keeps to it. */
class Levels {
  readonly #configuration: PodSecurityConfiguration;
  /** Objects in the cache do not change, so what was read from one namespace holds as long as it is there. */
  readonly #known = new WeakMap<Namespace, LabelledPolicy>();

  constructor(configuration: PodSecurityConfiguration) {
    this.#configuration = configuration;
  }

  isExempt(asked: Pick<AdmissionRequest<unknown>, "namespace" | "user" | "annotate">): boolean {
    const { namespaces, usernames } = this.#configuration.exemptions;
    const isPlace = namespaces.includes(asked.namespace);
    if (!isPlace && !usernames.includes(asked.user.name)) return false;
    asked.annotate(annotations.exempt, isPlace ? "namespace" : "user");
    return true;
  }

  /** Undefined if there is no such namespace. */
  policyFor(
    request: Pick<AdmissionRequest<unknown>, "namespace" | "server" | "signal">,
  ): Soon<LabelledPolicy | undefined> {
    return soon(find(request, Namespace, request.namespace), (namespace) => namespace && this.#policyIn(namespace));
  }

  #policyIn(namespace: Namespace): LabelledPolicy {
    const known = this.#known.get(namespace);
    if (known) return known;
    const policy = policyOf(namespace.metadata.labels, this.#configuration.defaults);
    this.#known.set(namespace, policy);
    return policy;
  }

  judge(
    asked: Pick<AdmissionRequest<unknown>, "warn" | "annotate">,
    pod: PodToCheck,
    { policy, problems }: LabelledPolicy,
    enforces: boolean,
  ): AdmissionRefusal {
    if (this.#configuration.exemptions.runtimeClasses.includes(pod.spec.runtimeClassName ?? "")) {
      asked.annotate(annotations.exempt, "runtimeClass");
      return undefined;
    }
    if (problems.length > 0) asked.annotate(annotations.error, `Failed to parse policy: ${problemsText(problems)}`);
    if (enforces) asked.annotate(annotations.enforced, formatLevel(policy.enforce));
    const refused = enforces ? violations(policy.enforce, pod) : [];
    const audited = violations(policy.audit, pod);
    if (audited.length > 0)
      asked.annotate(
        annotations.violations,
        `would violate PodSecurity ${JSON.stringify(formatLevel(policy.audit))}: ${detailsText(audited)}`,
      );
    if (refused.length > 0)
      return `violates PodSecurity ${JSON.stringify(formatLevel(policy.enforce))}: ${detailsText(refused)}`;
    const frowned = violations(policy.warn, pod);
    if (frowned.length > 0)
      asked.warn(`would violate PodSecurity ${JSON.stringify(formatLevel(policy.warn))}: ${detailsText(frowned)}`);
    return undefined;
  }
}

const podPlugin = (security: Levels): AdmissionPlugin =>
  admissionPlugin({
    name,
    on: { kind: Pod, verbs: ["create", "update"], through: ["", "ephemeralcontainers", "resize"] },
    validate(asked) {
      const { object, old, namespace } = asked;
      if (security.isExempt(asked)) return undefined;
      return soon(security.policyFor(asked), (found) => {
        if (!found) throw internalError(`failed to lookup namespace ${JSON.stringify(namespace)}`);
        if (found.problems.length === 0 && allowsEverything(found.policy)) {
          asked.annotate(annotations.enforced, "privileged:latest");
          return undefined;
        }
        if (old && !bringsImages(object.spec, old.spec)) return undefined;
        return security.judge(asked, object, found, true);
      });
    },
  });

/** What makes pods is only warned about: its pods are refused when they come. */
const makerPlugins = (security: Levels): readonly AdmissionPlugin[] =>
  podTemplates.map(([kind, templateOf]) =>
    admissionPlugin({
      name,
      on: { kind, verbs: ["create", "update"] },
      validate(asked) {
        const template = templateOf(asked.object);
        if (!template || security.isExempt(asked)) return undefined;
        return soon(security.policyFor(asked), (found) => found && security.judge(asked, template, found, false));
      },
    }),
  );

const namespacePlugin = ({ defaults, exemptions }: PodSecurityConfiguration): AdmissionPlugin =>
  admissionPlugin({
    name,
    on: { kind: Namespace, verbs: ["create", "update"] },
    async validate(asked) {
      const { object, old, server, signal } = asked;
      const namespace = object.metadata.name;
      const next = policyOf(object.metadata.labels, defaults);
      const before = old && policyOf(old.metadata.labels, defaults);
      if (next.problems.length > 0 && !(before && equal(before.problems, next.problems)))
        throw invalidObject(Namespace, namespace, next.problems);
      const { enforce } = next.policy;
      if (before) {
        const was = before.policy.enforce;
        if (isSame(enforce, was) || enforce.level === "privileged") return undefined;
        if (enforce.minor === was.minor && compareLevels(enforce.level, was.level) <= 0) return undefined;
      }
      if (exemptions.namespaces.includes(namespace)) {
        const warning = exemptionWarning(namespace, next.policy, defaults, object.metadata.labels ?? {});
        if (warning !== undefined) asked.warn(warning);
        return undefined;
      }
      if (!before) return undefined;
      const existing = server
        .list(Pod, namespace)
        .filter(({ spec }) => !exemptions.runtimeClasses.includes(spec.runtimeClassName ?? ""));
      for (const text of await namespaceWarnings(namespace, enforce, existing, server.clock)) asked.warn(text);
      signal.throwIfAborted();
      return undefined;
    },
  });

/** Of a running pod little can change but images, and nothing else matters here. */
function bringsImages(spec: PodSpec, old: PodSpec): boolean {
  for (const list of ["containers", "initContainers"] as const) {
    const [now = [], then = []] = [spec[list], old[list]];
    if (now.length !== then.length || now.some(({ image }, i) => image !== then[i]?.image)) return true;
  }
  const known = new Map(old.ephemeralContainers?.map((container) => [container.name, container.image]));
  return (spec.ephemeralContainers ?? []).some(
    (container) => !known.has(container.name) || known.get(container.name) !== container.image,
  );
}
