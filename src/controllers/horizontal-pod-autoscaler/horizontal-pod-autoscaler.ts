// Changes the number of replicas of a target so that metrics stay near their targets.
// Upstream: pkg/controller/podautoscaler/horizontal.go.
import {
  HorizontalPodAutoscaler,
  type HorizontalPodAutoscalerStatus,
  type MetricStatus,
} from "#api/autoscaling/v2/horizontal-pod-autoscaler.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { equal } from "#base/collections.ts";
import { explain } from "#base/errors.ts";
import { controller, type Reconcile } from "#client/controller.ts";
import type { Discovery } from "#client/discovery.ts";
import { keyOf } from "#client/object-key.ts";
import { formatRequirements, parseSelector, selectorStructOf } from "#schema/selector.ts";
import { timeOf } from "#schema/time.ts";
import { podsSelected } from "../pods-by-label.ts";
import { AutoscalerConditions } from "./conditions.ts";
import { MetricSource } from "./metric-source.ts";
import { PodSelectors } from "./pod-selectors.ts";
import { MetricFailure, type Proposal, propose, type ScalingContext, tolerancesOf } from "./proposals.ts";
import { readScale, type ScaleTarget, writeScale } from "./scale-target.ts";
import { type AutoscalerSettings, autoscalerDefaults } from "./settings.ts";
import { afterChange, newHistory, normalize, type ScalingHistory } from "./stabilization.ts";

export const horizontalPodAutoscalerController = (discovery: Discovery, settings: Partial<AutoscalerSettings> = {}) => {
  const autoscaling = new Autoscaling(discovery, { ...autoscalerDefaults, ...settings });
  return controller({
    name: "horizontalpodautoscaler",
    reportsAs: "horizontal-pod-autoscaler",
    for: HorizontalPodAutoscaler,
    reads: [Pod],
    reconcile: (autoscaler, context) => autoscaling.reconcile(autoscaler, context),
    gone: async (place) => autoscaling.forget(keyOf(place)),
  });
};

/** What the controller remembers of all autoscalers. */
class Autoscaling {
  readonly #discovery: Discovery;
  readonly #settings: AutoscalerSettings;
  /** When each is due. An autoscaler is looked at in regular intervals, whatever happens between them. */
  readonly #due = new Map<string, number>();
  readonly #histories = new Map<string, ScalingHistory>();
  readonly #selectors = new PodSelectors();

  constructor(discovery: Discovery, settings: AutoscalerSettings) {
    this.#discovery = discovery;
    this.#settings = settings;
  }

  forget(key: string): void {
    this.#due.delete(key);
    this.#histories.delete(key);
    this.#selectors.delete(key);
  }

  async reconcile(autoscaler: HorizontalPodAutoscaler, context: Reconcile) {
    const { clock, log, signal } = context;
    const key = keyOf(autoscaler.metadata);
    const { syncMs } = this.#settings;
    const due = this.#due.get(key) ?? clock.elapsed() + syncMs;
    this.#due.set(key, due);
    const leftMs = due - clock.elapsed();
    if (leftMs > 0) return { afterMs: leftMs };
    this.#due.set(key, clock.elapsed() + syncMs);
    try {
      await this.#sync(key, autoscaler, context);
    } catch (error) {
      signal.throwIfAborted();
      log.warn("autoscaler cannot act", { autoscaler: key, error: explain(error) });
    }
    return { afterMs: syncMs };
  }

  async #sync(key: string, autoscaler: HorizontalPodAutoscaler, context: Reconcile): Promise<void> {
    const { client, clock, event } = context;
    const round = new Round(autoscaler, context);
    const { conditions } = round;
    const { spec, metadata } = autoscaler;
    const target = await readScale(spec.scaleTargetRef, metadata.namespace ?? "", this.#discovery, client).catch(
      async (error: unknown) => {
        const why = explain(error);
        event("Warning", "FailedGetScale", why);
        conditions.set(
          "AbleToScale",
          "False",
          "FailedGetScale",
          `the HPA controller was unable to get the target's current scale: ${why}`,
        );
        await round.write({ ...autoscaler.status, conditions: conditions.all });
        throw error;
      },
    );
    conditions.set(
      "AbleToScale",
      "True",
      "SucceededGetScale",
      "the HPA controller was able to get the target's current scale",
    );
    const current = target.scale.spec.replicas;
    if (!this.#histories.has(key)) this.#histories.set(key, newHistory(current, clock.now()));
    const decision = await this.#decide(key, autoscaler, target, round);
    if (decision.replicas !== current) await this.#rescale(key, target, decision, round);
    await round.finish(current, decision.replicas, decision.statuses, decision.replicas !== current);
    if (decision.failure) throw decision.failure;
  }

  async #decide(
    key: string,
    autoscaler: HorizontalPodAutoscaler,
    target: ScaleTarget,
    round: Round,
  ): Promise<ScalingDecision> {
    const { minReplicas, maxReplicas } = autoscaler.spec;
    const current = target.scale.spec.replicas;
    const { conditions } = round;
    if (current === 0) {
      const message = "scaling is disabled since the replica count of the target is zero";
      conditions.set("ScalingActive", "False", "ScalingDisabled", message);
      return { replicas: 0, reason: "" };
    }
    if (current > maxReplicas)
      return { replicas: maxReplicas, reason: "Current number of replicas above Spec.MaxReplicas" };
    if (current < minReplicas)
      return { replicas: minReplicas, reason: "Current number of replicas below Spec.MinReplicas" };
    const { best, statuses, failure } = await this.#proposals(key, autoscaler, target, round);
    const now = round.context.clock.now();
    const { replicas, history, stabilized, limited } = normalize({
      spec: autoscaler.spec,
      history: this.#histories.get(key) ?? newHistory(current, now),
      current,
      desired: best.replicas,
      downscaleStabilizationMs: this.#settings.downscaleStabilizationMs,
      now,
    });
    this.#histories.set(key, history);
    conditions.set("AbleToScale", "True", stabilized.reason, stabilized.message);
    conditions.set("ScalingLimited", limited.isLimited ? "True" : "False", limited.reason, limited.message);
    const reason =
      best.replicas > current ? `${best.name} above target` : best.replicas < current ? "All metrics below target" : "";
    return { replicas, reason, statuses, ...(failure && { failure }) };
  }

  /** What the metrics ask for. Throws, with the status written, where they do not say enough. */
  async #proposals(key: string, autoscaler: HorizontalPodAutoscaler, target: ScaleTarget, round: Round) {
    const { event, signal } = round.context;
    const { scale } = target;
    const metrics = autoscaler.spec.metrics ?? [];
    try {
      const context = this.#scalingContext(key, autoscaler, target, round);
      const failures: MetricFailure[] = [];
      const proposals: Proposal[] = [];
      const statuses: MetricStatus[] = [];
      for (const metric of metrics)
        try {
          const proposal = await propose(metric, context);
          proposals.push(proposal);
          statuses.push(proposal.status);
        } catch (error) {
          signal.throwIfAborted();
          if (!(error instanceof MetricFailure)) throw error;
          event("Warning", error.reason, error.detail);
          failures.push(error);
          statuses.push({ type: "" }); // as upstream has it
        }
      round.statuses = statuses;
      return { statuses, ...chosen(proposals, failures, scale.spec.replicas, round.conditions) };
    } catch (error) {
      signal.throwIfAborted();
      await round.finish(scale.spec.replicas, autoscaler.status.desiredReplicas, round.statuses, false);
      event("Warning", "FailedComputeMetricsReplicas", explain(error));
      throw error;
    }
  }

  /** Throws, with a condition that says so, for a target whose pods cannot be told. */
  #scalingContext(
    key: string,
    autoscaler: HorizontalPodAutoscaler,
    { scale }: ScaleTarget,
    { conditions, context }: Round,
  ): ScalingContext {
    const { client, cache, clock, event } = context;
    const { namespace = "" } = autoscaler.metadata;
    const { selector = "" } = scale.status;
    const refuse = (reason: string, why: string, eventReason = reason, said = why): never => {
      event("Warning", eventReason, said);
      conditions.set("ScalingActive", "False", reason, why);
      throw new Error(said);
    };
    if (selector === "")
      refuse(
        "InvalidSelector",
        "the HPA target's scale is missing a selector",
        "SelectorRequired",
        "selector is required",
      );
    const requirements = parsedSelector(selector, (why) =>
      refuse("InvalidSelector", `couldn't convert selector into a corresponding internal selector object: ${why}`),
    );
    this.#selectors.set(key, autoscaler.metadata, requirements);
    const pods = podsSelected(namespace, selectorStructOf(requirements), cache);
    const selecting = this.#selectors.selecting(namespace, pods);
    if (selecting.length > 1) {
      const names = selecting.map((name) => `{${name} ${namespace}}`).join(" ");
      refuse("AmbiguousSelector", `pods by selector ${selector} are controlled by multiple HPAs: [${names}]`);
    }
    return {
      source: new MetricSource(client, this.#discovery, namespace),
      namespace,
      settings: this.#settings,
      tolerances: tolerancesOf(autoscaler, this.#settings.tolerance),
      podSelector: formatRequirements(requirements),
      pods,
      specReplicas: scale.spec.replicas,
      statusReplicas: scale.status.replicas,
      now: clock.now(),
    };
  }

  async #rescale(key: string, target: ScaleTarget, { replicas, reason, statuses }: ScalingDecision, round: Round) {
    const { conditions, context, autoscaler } = round;
    const { client, event, clock } = context;
    const from = target.scale.spec.replicas;
    try {
      await writeScale(target, replicas, client);
    } catch (error) {
      context.signal.throwIfAborted();
      const why = explain(error);
      event("Warning", "FailedRescale", `New size: ${replicas}; reason: ${reason}; error: ${why}`);
      const message = `the HPA controller was unable to update the target scale: ${why}`;
      conditions.set("AbleToScale", "False", "FailedUpdateScale", message);
      await round.finish(from, autoscaler.status.desiredReplicas, statuses, false);
      throw error;
    }
    const message = `the HPA controller was able to update the target scale to ${replicas}`;
    conditions.set("AbleToScale", "True", "SucceededRescale", message);
    event("Normal", "SuccessfulRescale", `New size: ${replicas}; reason: ${reason}`);
    const now = clock.now();
    const history = this.#histories.get(key) ?? newHistory(from, now);
    this.#histories.set(key, afterChange(history, autoscaler.spec.behavior, { from, to: replicas, now }));
  }
}

interface ScalingDecision {
  readonly replicas: number;
  /** Why it is another number than the present one. */
  readonly reason: string;
  readonly statuses?: readonly MetricStatus[];
  /** Some metrics could not be told, but the others were enough. */
  readonly failure?: Error;
}

/** One look at one autoscaler. */
class Round {
  readonly autoscaler: HorizontalPodAutoscaler;
  readonly context: Reconcile;
  readonly conditions: AutoscalerConditions;
  /** What was told of each metric so far. */
  statuses: readonly MetricStatus[] = [];

  constructor(autoscaler: HorizontalPodAutoscaler, context: Reconcile) {
    this.autoscaler = autoscaler;
    this.context = context;
    this.conditions = new AutoscalerConditions(autoscaler.status.conditions, context.clock.now());
  }

  async finish(
    currentReplicas: number,
    desiredReplicas: number,
    currentMetrics: readonly MetricStatus[] = [],
    isRescaled = false,
  ): Promise<void> {
    const { lastScaleTime } = this.autoscaler.status;
    const time = isRescaled ? timeOf(this.context.clock.now()) : lastScaleTime;
    await this.write({
      currentReplicas,
      desiredReplicas,
      currentMetrics,
      conditions: this.conditions.all,
      ...(time !== undefined && { lastScaleTime: time }),
    });
  }

  async write(status: HorizontalPodAutoscalerStatus): Promise<void> {
    const { client, event } = this.context;
    if (equal(comparable(status), comparable(this.autoscaler.status))) return;
    try {
      await client.update(HorizontalPodAutoscaler, { ...this.autoscaler, status }, "status");
    } catch (error) {
      event("Warning", "FailedUpdateStatus", explain(error));
      throw new Error(`failed to update status for ${this.autoscaler.metadata.name}: ${explain(error)}`, {
        cause: error,
      });
    }
  }
}

/** No metrics are the same as none told of. */
const comparable = ({ currentMetrics, currentReplicas, ...rest }: HorizontalPodAutoscalerStatus) => ({
  ...rest,
  currentReplicas: currentReplicas ?? 0,
  currentMetrics: currentMetrics ?? [],
});

function parsedSelector(text: string, refuse: (why: string) => never) {
  try {
    return parseSelector(text);
  } catch (error) {
    return refuse(explain(error));
  }
}

/** The highest proposal. With metrics that cannot be told, only one that asks for more replicas counts. */
function chosen(
  proposals: readonly Proposal[],
  failures: readonly MetricFailure[],
  current: number,
  conditions: AutoscalerConditions,
) {
  const [first] = failures;
  const best = proposals.reduce<Proposal | undefined>(
    (most, one) => (!most || one.replicas > most.replicas ? one : most),
    undefined,
  );
  const total = proposals.length + failures.length;
  const failure =
    first &&
    new Error(`invalid metrics (${failures.length} invalid out of ${total}), first error is: ${first.message}`);
  if (first && (!best || best.replicas < current)) {
    const message = `the HPA was unable to compute the replica count: ${first.detail}`;
    conditions.set("ScalingActive", "False", first.reason, message);
    throw failure;
  }
  if (!best) throw new Error("the HPA has no metrics");
  const message = `the HPA was able to successfully calculate a replica count from ${best.name}`;
  conditions.set("ScalingActive", "True", "ValidMetricFound", message);
  return { best, failure };
}
