// A random history of policies, pods and namespaces.
import type { NetworkPolicy } from "#api/networking/v1/network-policy.ts";
import type { Random } from "#base/random.ts";
import { PolicyTable } from "#network/policy/policy-table.ts";
import type { ModelPod, ModelWorld } from "./model.ts";
import { keyOf, namespaceNames, pick, policyPod, randomNamespaceLabels, randomPod, randomPolicy } from "./worlds.ts";

/** A history of one world, step by step, and the table of one node that follows it. */
export class History {
  readonly #random: Random;
  readonly #policies = new Map<string, NetworkPolicy>();
  readonly #pods = new Map<string, ModelPod>();
  readonly #namespaces = new Map<string, Record<string, string>>();
  readonly #node: string;
  readonly table = new PolicyTable();

  constructor(random: Random, node: string) {
    this.#random = random;
    this.#node = node;
  }

  get state(): ModelWorld {
    return {
      policies: [...this.#policies.values()],
      pods: [...this.#pods.values()],
      namespaces: Object.fromEntries(this.#namespaces),
    };
  }

  step(): void {
    const random = this.#random;
    const isRemoval = random.next() < 0.3;
    const kind = random.next();
    if (kind < 0.4) {
      const policy = randomPolicy(random, `policy-${random.below(6)}`, pick(random, namespaceNames));
      if (isRemoval) this.#policies.delete(keyOf(policy));
      else this.#policies.set(keyOf(policy), policy);
      this.table.setPolicy(keyOf(policy), isRemoval ? undefined : policy);
    } else if (kind < 0.85) {
      const pod = { ...randomPod(random, random.below(8)), namespace: pick(random, namespaceNames) };
      const key = `${pod.namespace}/${pod.name}`;
      if (isRemoval) this.#pods.delete(key);
      else this.#pods.set(key, pod);
      this.table.setPod(key, isRemoval ? undefined : policyPod(pod, this.#node));
    } else {
      const name = pick(random, namespaceNames);
      const labels = randomNamespaceLabels(random);
      if (isRemoval) this.#namespaces.delete(name);
      else this.#namespaces.set(name, labels);
      this.table.setNamespace(name, isRemoval ? undefined : labels);
    }
  }
}
