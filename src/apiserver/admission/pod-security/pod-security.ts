// Pod Security: pods must keep to the level that labels of their namespace name, or to the default.
import { DaemonSet } from "#api/apps/v1/daemon-set.ts";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { StatefulSet } from "#api/apps/v1/stateful-set.ts";
import { CronJob } from "#api/batch/v1/cron-job.ts";
import { Job } from "#api/batch/v1/job.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { Pod } from "#api/core/v1/pod.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import { PodTemplate } from "#api/core/v1/pod-template.ts";
import { ReplicationController } from "#api/core/v1/replication-controller.ts";
import { equal } from "#base/collections.ts";
import { type Soon, soon } from "#base/soon.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
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

/** Where the pods-to-be are in what makes pods. */
const templates: readonly (readonly [AnyKind, (object: ApiObject) => PodToCheck | undefined])[] = [
  [PodTemplate, ({ template }) => template],
  [CronJob, ({ spec }) => spec.jobTemplate.spec.template],
  ...[ReplicationController, ReplicaSet, Deployment, DaemonSet, StatefulSet, Job].map(
    (kind) => [kind, ({ spec }: ApiObject) => spec.template] as const,
  ),
];

export function podSecurity(configuration: PodSecurityConfiguration): AdmissionPlugin {
  const { defaults, exemptions } = configuration;
  const isExempt = ({ namespace, user }: Pick<AdmissionRequest<unknown>, "namespace" | "user">) =>
    exemptions.namespaces.includes(namespace) || exemptions.usernames.includes(user.name);

  /** Objects in the cache do not change, so what was read from one namespace holds as long as it is there. */
  const known = new WeakMap<Namespace, LabelledPolicy>();
  const policyIn = (namespace: Namespace): LabelledPolicy => {
    const present = known.get(namespace);
    if (present) return present;
    const policy = policyOf(namespace.metadata.labels, defaults);
    known.set(namespace, policy);
    return policy;
  };
  const policyFor = (
    asked: Pick<AdmissionRequest<unknown>, "namespace" | "server" | "signal">,
  ): Soon<LabelledPolicy | undefined> =>
    soon(find(asked, Namespace, asked.namespace), (found) => found && policyIn(found));

  const judge = (
    asked: Pick<AdmissionRequest<unknown>, "warn">,
    pod: PodToCheck,
    policy: Policy,
    enforces: boolean,
  ): AdmissionRefusal => {
    if (exemptions.runtimeClasses.includes(pod.spec.runtimeClassName ?? "")) return undefined;
    const refused = enforces ? violations(policy.enforce, pod) : [];
    if (refused.length > 0)
      return `violates PodSecurity ${JSON.stringify(formatLevel(policy.enforce))}: ${detailsText(refused)}`;
    const frowned = violations(policy.warn, pod);
    if (frowned.length > 0)
      asked.warn(`would violate PodSecurity ${JSON.stringify(formatLevel(policy.warn))}: ${detailsText(frowned)}`);
    return undefined;
  };

  const pods = admissionPlugin({
    name,
    on: { kind: Pod, verbs: ["create", "update"], through: ["", "ephemeralcontainers", "resize"] },
    validate(asked) {
      const { object, old, namespace } = asked;
      if (isExempt(asked)) return undefined;
      return soon(policyFor(asked), (found) => {
        if (!found) throw internalError(`failed to lookup namespace ${JSON.stringify(namespace)}`);
        if (found.problems.length === 0 && allowsEverything(found.policy)) return undefined;
        if (old && !bringsImages(object.spec, old.spec)) return undefined;
        return judge(asked, object, found.policy, true);
      });
    },
  });

  /** What makes pods is only warned about: its pods are refused when they come. */
  const makers = templates.map(([kind, templateOf]) =>
    admissionPlugin({
      name,
      on: { kind, verbs: ["create", "update"] },
      validate(asked) {
        const template = templateOf(asked.object);
        if (!template || isExempt(asked)) return undefined;
        return soon(policyFor(asked), (found) => found && judge(asked, template, found.policy, false));
      },
    }),
  );

  const namespaces = admissionPlugin({
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

  return pluginOf(name, pods, ...makers, namespaces);
}

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
