import { Pod } from "#api/core/v1/pod.ts";
import { PriorityClass } from "#api/scheduling/v1/priority-class.ts";
import { admissionPlugin, pluginOf } from "./plugin.ts";
import type { AdmissionServer } from "./server.ts";

const ofPods = admissionPlugin({
  name: "Priority",
  on: { kind: Pod, verbs: ["create", "update"] },
  async mutate({ object: { spec }, old, server, signal }) {
    if (old) {
      // Clients that do not know these fields leave them out of an update.
      if (old.spec.priority !== undefined) spec.priority ??= old.spec.priority;
      if (old.spec.preemptionPolicy !== undefined) spec.preemptionPolicy ??= old.spec.preemptionPolicy;
      return;
    }
    const asked = spec.priorityClassName;
    if (asked && !server.get(PriorityClass, asked)) await server.settled(signal);
    const found = asked ? server.get(PriorityClass, asked) : defaultOf(server);
    if (asked && !found) return `no PriorityClass with name ${asked} was found`;
    const { value = 0, preemptionPolicy = "PreemptLowerPriority" } = found ?? {};
    if (found) spec.priorityClassName = found.metadata.name;
    if (spec.priority !== undefined && spec.priority !== value)
      return `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`;
    spec.priority = value;
    if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== preemptionPolicy)
      return `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${preemptionPolicy} from the given PriorityClass name`;
    spec.preemptionPolicy = preemptionPolicy;
    return;
  },
});

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
