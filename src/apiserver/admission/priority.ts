// Upstream: plugin/pkg/admission/priority/admission.go.
import { Pod } from "#api/core/v1/pod.ts";
import { PriorityClass } from "#api/scheduling/v1/priority-class.ts";
import { soon } from "#base/soon.ts";
import type { Mutable } from "#schema/infer.ts";
import { type AdmissionRefusal, admissionPlugin, find, pluginOf } from "./plugin.ts";
import type { AdmissionServer } from "./server.ts";

const ofPods = admissionPlugin({
  name: "Priority",
  on: { kind: Pod, verbs: ["create", "update"] },
  mutate(asked) {
    const { spec } = asked.object;
    const { old, server } = asked;
    if (old) {
      // Clients that do not know these fields leave them out of an update.
      if (old.spec.priority !== undefined) spec.priority ??= old.spec.priority;
      if (old.spec.preemptionPolicy !== undefined) spec.preemptionPolicy ??= old.spec.preemptionPolicy;
      return undefined;
    }
    const name = spec.priorityClassName;
    if (!name) return setPriority(spec, defaultOf(server));
    return soon(find(asked, PriorityClass, name), (found) =>
      found ? setPriority(spec, found) : `no PriorityClass with name ${name} was found`,
    );
  },
});

function setPriority(spec: Mutable<Pod>["spec"], found: PriorityClass | undefined): AdmissionRefusal {
  const { value = 0, preemptionPolicy = "PreemptLowerPriority" } = found ?? {};
  if (found) spec.priorityClassName = found.metadata.name;
  if (spec.priority !== undefined && spec.priority !== value)
    return `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`;
  spec.priority = value;
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== preemptionPolicy)
    return `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${preemptionPolicy} from the given PriorityClass name`;
  spec.preemptionPolicy = preemptionPolicy;
  return undefined;
}

const ofClasses = admissionPlugin({
  name: "Priority",
  on: { kind: PriorityClass, verbs: ["create", "update"] },
  validate({ object: { globalDefault, metadata }, old, server }) {
    const present = globalDefault ? defaultOf(server) : undefined;
    if (!present || (old && present.metadata.name === metadata.name)) return undefined;
    return `PriorityClass ${present.metadata.name} is already marked as default. Only one default can exist`;
  },
});

/** Gives each pod the number behind the name of its priority class, and sees to it that there is one default class at most. */
export const priority = pluginOf("Priority", ofPods, ofClasses);

/** Should there be several after all, the least important. */
const defaultOf = (server: AdmissionServer): PriorityClass | undefined =>
  server
    .list(PriorityClass)
    .filter(({ globalDefault }) => globalDefault)
    .reduce<PriorityClass | undefined>((least, one) => (least && least.value <= one.value ? least : one), undefined);
