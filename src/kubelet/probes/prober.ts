// Probes the containers of a node at their periods, with one timer for all.
//
// Until its startup probe has succeeded, no other probe of a container runs; after that, the startup probe does not. A container whose
// liveness or startup probe has failed is probed no more: it is going to be replaced.
// Upstream: pkg/kubelet/prober/prober_manager.go and pkg/kubelet/prober/worker.go.
import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Probe } from "#api/core/v1/probe.ts";
import { explain } from "#base/errors.ts";
import type { Component } from "#base/supervise.ts";
import { TimerQueue } from "#base/timer-queue.ts";
import { containersIn } from "../pod/containers.ts";
import type { ProbeResult, ProbeResults } from "../pod/view.ts";
import type { RecordEvent } from "../pods-context.ts";
import type { ContainerState, PodState } from "../runtime.ts";
import { WorkerPool } from "../worker-pool.ts";
import type { ProbeCount, ProbeCounts, ProbeKind } from "./probe-counts.ts";
import { hasProbes, noFindings, type ProbeFindings, type Probes } from "./probes.ts";
import { type ProbeContext, type ProbeOutcome, runProbe } from "./run-probe.ts";
import { countResult, freshTally, type Tally } from "./tally.ts";

export interface ProberOptions extends ProbeContext {
  readonly event: RecordEvent;
  /** Called when the result of a probe of the pod has changed. */
  readonly changed: (podUid: string) => void;
  /** Counts what probes come to. */
  readonly counts?: ProbeCounts;
}

const kinds: readonly ProbeKind[] = ["startup", "liveness", "readiness"];

/** One probe of one run of a container. */
interface ProbeState {
  readonly kind: ProbeKind;
  readonly probe: Probe;
  readonly target: ProbedContainer;
  tally: Tally;
}

interface ProbedContainer {
  readonly id: string;
  readonly startedAt: number;
  readonly container: Container;
  pod: Pod;
  ip: string;
  readonly probes: ProbeState[];
}

/** Probes that run at the same time: slow containers must not delay the probes of others. */
const workers = 128;
/** How often a probe is tried that ends in an error rather than a result. */
const tries = 3;

export class Prober implements Probes, Component {
  readonly name = "probes";
  readonly #options: ProberOptions;
  readonly #timers: TimerQueue<ProbeState>;
  readonly #pods = new Map<string, Map<string, ProbedContainer>>();
  readonly #workers: WorkerPool<ProbeState>;

  constructor(options: ProberOptions) {
    this.#options = options;
    this.#timers = new TimerQueue(options.clock, (probeState) => this.#workers.add(probeState));
    this.#workers = new WorkerPool({
      name: this.name,
      count: workers,
      work: (probeState, signal) => this.#probe(probeState, signal),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#workers.run(signal);
    } finally {
      this.#timers.stop();
    }
  }

  results(pod: Pod, state: PodState): ProbeFindings {
    const uid = pod.metadata.uid ?? "";
    const running = state.containers.filter(({ phase }) => phase === "running");
    let probed = this.#pods.get(uid);
    const specs = containersIn(pod.spec);
    for (const container of running) {
      const spec = specs.get(container.name);
      if (!spec || !hasProbes(spec)) continue;
      probed ??= new Map();
      const known = probed.get(container.id) ?? this.#begin(pod, spec, container);
      known.pod = pod;
      known.ip = state.sandboxes[0]?.ips[0] ?? pod.status.hostIP ?? "";
      probed.set(container.id, known);
    }
    if (!probed) return noFindings;
    this.#pods.set(uid, probed);
    for (const [id, one] of probed)
      if (!running.some((container) => container.id === id)) {
        this.#end(one);
        probed.delete(id);
      }
    const results = new Map<string, ProbeResults>();
    for (const [id, { probes }] of probed) {
      const found = (kind: ProbeKind): ProbeResult => probes.find((one) => one.kind === kind)?.tally.result;
      results.set(id, { startup: found("startup"), liveness: found("liveness"), readiness: found("readiness") });
    }
    return { results, wakeAt: Number.POSITIVE_INFINITY };
  }

  forget(podUid: string): void {
    for (const probed of this.#pods.get(podUid)?.values() ?? []) this.#end(probed);
    this.#pods.delete(podUid);
  }

  #begin(pod: Pod, container: Container, { id, startedAt }: ContainerState): ProbedContainer {
    const probed: ProbedContainer = { id, startedAt, container, pod, ip: "", probes: [] };
    const known = resultBefore(pod, container.name, id);
    for (const kind of kinds) {
      const probe = probeOf(container, kind);
      const tally = known.has(kind) ? { ...freshTally, result: "success" as const } : freshTally;
      if (probe) probed.probes.push({ kind, probe, target: probed, tally });
    }
    for (const probeState of probed.probes)
      if (probeState.kind !== "startup" || probeState.tally.result === undefined) this.#schedule(probeState, 0);
    return probed;
  }

  #end({ probes, pod, container }: ProbedContainer): void {
    for (const probeState of probes) {
      this.#options.counts?.forget({ pod, container: container.name, kind: probeState.kind });
      this.#timers.delete(probeState);
      this.#workers.delete(probeState);
    }
  }

  /** Not before the probe's initial delay is over. */
  #schedule(probeState: ProbeState, ms: number): void {
    const { clock } = this.#options;
    const earliest = probeState.target.startedAt + (probeState.probe.initialDelaySeconds ?? 0) * 1000;
    this.#timers.set(probeState, Math.max(ms, earliest - clock.now()));
  }

  #mayProbe({ kind, target }: ProbeState): boolean {
    const startup = target.probes.find((one) => one.kind === "startup");
    // Scheduled again when the startup probe has succeeded.
    if (kind !== "startup" && startup && startup.tally.result !== "success") return false;
    // The liveness of a pod that is being deleted does not matter.
    return kind === "readiness" || target.pod.metadata.deletionTimestamp === undefined;
  }

  async #probe(probeState: ProbeState, signal: AbortSignal): Promise<void> {
    if (!this.#mayProbe(probeState)) return;
    const { kind, probe, target } = probeState;
    const before = probeState.tally.result;
    const outcome = await this.#runProbe(probeState, signal);
    if (signal.aborted || !this.#pods.get(target.pod.metadata.uid ?? "")?.has(target.id)) return;
    if (outcome)
      probeState.tally = countResult(probeState.tally, outcome.result === "failure" ? "failure" : "success", probe);
    const { result } = probeState.tally;
    const isOver = (kind === "liveness" && result === "failure") || (kind === "startup" && result !== undefined);
    if (!isOver) this.#schedule(probeState, probe.periodSeconds * 1000);
    if (result === before) return;
    if (kind === "startup" && result === "success")
      for (const other of target.probes) if (other !== probeState) this.#schedule(other, 0);
    this.#options.changed(target.pod.metadata.uid ?? "");
  }

  /** The result, or undefined after errors: then the last result stays. */
  async #runProbe({ kind, probe, target }: ProbeState, signal: AbortSignal): Promise<ProbeOutcome | undefined> {
    const { event, counts, clock } = this.#options;
    const about = { pod: target.pod, container: target.container.name, kind };
    const title = `${kind[0]?.toUpperCase()}${kind.slice(1)}`;
    const tell = (reason: string, message: string) =>
      event(target.pod, "Warning", reason, message, target.container.name);
    const begun = clock.elapsed();
    const count = (result: ProbeCount) => counts?.count(about, result, (clock.elapsed() - begun) / 1000);
    for (let attempt = 1; ; attempt++) {
      try {
        const outcome = await runProbe(probe, target, this.#options, signal);
        count(outcome.result === "failure" ? "failed" : "successful");
        if (outcome.result === "failure") tell("Unhealthy", `${title} probe failed: ${outcome.output}`);
        if (outcome.result === "warning") tell("ProbeWarning", `${title} probe warning: ${outcome.output}`);
        return outcome;
      } catch (error) {
        if (signal.aborted) return undefined;
        if (attempt < tries) continue;
        count("unknown");
        tell("Unhealthy", `${title} probe errored and resulted in unknown state: ${explain(error)}`);
        return undefined;
      }
    }
  }
}

const probeOf = ({ startupProbe, livenessProbe, readinessProbe }: Container, kind: ProbeKind): Probe | undefined =>
  ({ startup: startupProbe, liveness: livenessProbe, readiness: readinessProbe })[kind];

/** Results that an earlier kubelet reported for this run: a container does not become unready because its kubelet was restarted. */
function resultBefore({ status }: Pod, name: string, id: string): ReadonlySet<ProbeKind> {
  const containerStatus = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])].find(
    (one) => one.name === name && one.state.running && one.containerID?.endsWith(`//${id}`),
  );
  return new Set<ProbeKind>([
    ...(containerStatus?.started ? ["startup" as const] : []),
    ...(containerStatus?.ready ? ["readiness" as const] : []),
  ]);
}
