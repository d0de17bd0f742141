// Small clusters made by chance: few values for everything, so that rules meet each other often.
import type { PodAffinityTerm, TopologySpreadConstraint } from "#api/core/v1/affinity.ts";
import type { Node } from "#api/core/v1/node.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { LabelSelector } from "#api/meta/label-selector.ts";
import type { Random } from "#base/random.ts";
import type { Draft } from "#schema/infer.ts";

export class RandomCluster {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  number(from: number, to: number): number {
    return from + this.#random.below(to - from + 1);
  }

  one<T>(of: readonly T[]): T {
    return of[this.#random.below(of.length)] as T;
  }

  some<T>(most: number, make: () => T): T[] {
    return Array.from({ length: this.#random.below(most + 1) }, make);
  }

  /** One time in `n`. */
  rarely(n: number): boolean {
    return this.#random.below(n) === 0;
  }

  node(): Draft<Node> {
    const labels = {
      ...(!this.rarely(8) && { zone: this.one(["a", "b", "c"]) }),
      ...(this.rarely(2) && { disk: this.one(["fast", "slow", "7", "12"]) }),
    };
    return {
      metadata: { labels },
      spec: {
        ...(this.rarely(12) && { unschedulable: true }),
        ...(this.rarely(3) && { taints: this.some(2, () => this.#taint()) }),
      },
      status: {
        allocatable: {
          cpu: this.one(["1", "2", "1500m"]),
          memory: this.one(["1Gi", "2Gi"]),
          pods: this.one(["1", "3", "10"]),
          "ephemeral-storage": "10Gi",
          ...(this.rarely(3) && { "example.com/gpu": "2" }),
        },
        images: this.rarely(3)
          ? [{ names: [this.one(["app:latest", "web:1"])], sizeBytes: this.one([10, 300, 2000]) * 1024 ** 2 }]
          : [],
      },
    };
  }

  /** A pod that says little about where it wants to be, or much. */
  pod(): Draft<Pod> {
    const affinity = {
      ...(this.rarely(4) && { nodeAffinity: this.#nodeAffinity() }),
      ...(this.rarely(3) && { podAffinity: this.#podAffinity() }),
      ...(this.rarely(3) && { podAntiAffinity: this.#podAffinity() }),
    };
    const constraints = this.rarely(3) ? this.#constraints() : [];
    return {
      metadata: {
        namespace: this.one(["default", "default", "default", "other"]),
        labels: { app: this.one(["web", "db"]), ...(this.rarely(2) && { tier: this.one(["1", "2"]) }) },
      },
      spec: {
        containers: [this.#container()],
        ...(this.rarely(6) && { initContainers: [this.#initContainer(0), this.#initContainer(1)] }),
        ...(this.rarely(10) && { overhead: { cpu: "50m", memory: "16Mi" } }),
        ...(this.rarely(4) && { nodeSelector: { disk: this.one(["fast", "slow"]) } }),
        ...(this.rarely(3) && { tolerations: [this.#toleration()] }),
        ...(Object.keys(affinity).length > 0 && { affinity }),
        ...(constraints.length > 0 && { topologySpreadConstraints: constraints }),
      },
    };
  }

  #taint() {
    const effect = this.one(["NoSchedule", "NoExecute", "PreferNoSchedule", "PreferNoSchedule"] as const);
    return { key: this.one(["a", "b"]), value: this.one(["", "x"]), effect };
  }

  #toleration() {
    const operator = this.one(["Exists", "Equal"] as const);
    return {
      operator,
      ...(this.rarely(2) || operator === "Equal" ? { key: this.one(["a", "b"]) } : {}),
      ...(operator === "Equal" && { value: this.one(["", "x"]) }),
      ...(this.rarely(2) && { effect: this.one(["NoSchedule", "PreferNoSchedule"] as const) }),
    };
  }

  #requests() {
    return {
      ...(!this.rarely(3) && { cpu: this.one(["0", "100m", "250m", "700m"]) }),
      ...(!this.rarely(3) && { memory: this.one(["0", "64Mi", "300Mi"]) }),
      ...(this.rarely(10) && { "ephemeral-storage": this.one(["1Gi", "6Gi"]) }),
      ...(this.rarely(10) && { "example.com/gpu": "1" }),
    };
  }

  #container() {
    const hostIP = this.one(["", "127.0.0.1", "10.0.0.1"]);
    const port = {
      containerPort: 80,
      hostPort: this.one([8080, 9090]),
      protocol: this.one(["TCP", "UDP"] as const),
      hostIP,
    };
    return {
      name: "app",
      image: this.one(["app", "web:1", "none:2"]),
      resources: { requests: this.#requests() },
      ...(this.rarely(6) && { ports: [port] }),
    };
  }

  #initContainer(number: number) {
    return {
      name: `init-${number}`,
      image: "init",
      resources: { requests: this.#requests() },
      ...(this.rarely(2) && { restartPolicy: "Always" as const }),
    };
  }

  #nodeAffinity() {
    return {
      ...(this.rarely(2) && {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [this.#nodeTerm(), ...this.some(1, () => this.#nodeTerm())],
        },
      }),
      preferredDuringSchedulingIgnoredDuringExecution: this.some(2, () => ({
        weight: this.number(1, 100),
        preference: this.#nodeTerm(),
      })),
    };
  }

  #nodeTerm() {
    const operator = this.one(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"] as const);
    const key = operator === "Gt" || operator === "Lt" ? "disk" : this.one(["zone", "disk"]);
    const values =
      operator === "In" || operator === "NotIn"
        ? [this.one(["a", "b", "fast", "7"])]
        : operator === "Gt" || operator === "Lt"
          ? ["9"]
          : [];
    const expressions = [{ key, operator, ...(values.length > 0 && { values }) }];
    if (!this.rarely(8)) return { matchExpressions: expressions };
    return { matchFields: [{ key: "metadata.name", operator: "In" as const, values: [this.one(["n0", "n1", "n9"])] }] };
  }

  #selector(): LabelSelector {
    if (this.rarely(12)) return {};
    if (this.rarely(4))
      return { matchExpressions: [{ key: "tier", operator: this.one(["Exists", "DoesNotExist"] as const) }] };
    return { matchLabels: { app: this.one(["web", "db"]) } };
  }

  #podTerm(): PodAffinityTerm {
    return {
      topologyKey: this.one(["zone", "zone", "kubernetes.io/hostname", "disk"]),
      ...(!this.rarely(12) && { labelSelector: this.#selector() }),
      ...(this.rarely(6) && { namespaces: [this.one(["default", "other"])] }),
      ...(this.rarely(6) && {
        namespaceSelector: this.rarely(2) ? {} : { matchLabels: { team: this.one(["x", "y"]) } },
      }),
    };
  }

  #podAffinity() {
    return {
      requiredDuringSchedulingIgnoredDuringExecution: this.some(2, () => this.#podTerm()),
      preferredDuringSchedulingIgnoredDuringExecution: this.some(2, () => ({
        weight: this.number(1, 100),
        podAffinityTerm: this.#podTerm(),
      })),
    };
  }

  #constraints(): TopologySpreadConstraint[] {
    return this.some(2, () => {
      const whenUnsatisfiable = this.one(["DoNotSchedule", "ScheduleAnyway"] as const);
      return {
        topologyKey: this.one(["zone", "kubernetes.io/hostname", "disk"]),
        maxSkew: this.number(1, 3),
        whenUnsatisfiable,
        ...(!this.rarely(12) && { labelSelector: this.#selector() }),
        ...(this.rarely(4) && whenUnsatisfiable === "DoNotSchedule" && { minDomains: this.number(1, 4) }),
        ...(this.rarely(4) && { nodeAffinityPolicy: this.one(["Honor", "Ignore"] as const) }),
        ...(this.rarely(4) && { nodeTaintsPolicy: this.one(["Honor", "Ignore"] as const) }),
        ...(this.rarely(4) && { matchLabelKeys: ["tier"] }),
      };
    });
  }
}
