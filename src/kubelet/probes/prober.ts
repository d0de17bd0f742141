// Probes the containers of a node, each as often as it says, with one timer for all.
//
// Until its startup probe has succeeded, a container is asked nothing else; after that, not that any more. A container whose
// liveness or startup probe has failed is left alone: it is going to be replaced.
import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Probe } from "#api/core/v1/probe.ts";
import { Alarm } from "#base/alarm.ts";
import { explain } from "#base/errors.ts";
import type { Component } from "#base/supervise.ts";
import { Lanes } from "../lanes.ts";
import { containersIn } from "../pod/containers.ts";
import type { ProbeResult, ProbeResults } from "../pod/view.ts";
import type { TellEvent } from "../pods.ts";
import type { ContainerState, PodState } from "../runtime.ts";
import { askProbe, type Outcome, type ProbeContext } from "./ask.ts";
import type { ProbeCount, ProbeCounts, ProbeKind } from "./probe-counts.ts";
import { type Findings, hasProbes, noFindings, type Probes } from "./probes.ts";
import { counted, freshTally, type Tally } from "./tally.ts";

export interface ProberOptions extends ProbeContext {
  readonly event: TellEvent;
  /** A probe of the pod has come to another result. */
  readonly changed: (podUid: string) => void;
  /** Counts what probes come to. */
  readonly counts?: ProbeCounts;
}

const kinds: readonly ProbeKind[] = ["startup", "liveness", "readiness"];

/** One probe of one run of a container. */
interface Probing {
  readonly kind: ProbeKind;
  readonly probe: Probe;
  readonly of: Probed;
  tally: Tally;
}

interface Probed {
  readonly id: string;
  readonly startedAt: number;
  readonly container: Container;
  pod: Pod;
  ip: string;
  readonly probings: Probing[];
}

/** Asked at once at most: who does not answer must not keep the others waiting. */
const lanes = 128;
/** Errors that say nothing about the container are not believed at once. */
const tries = 3;

export class Prober implements Probes, Component {
  readonly name = "probes";
  readonly #options: ProberOptions;
  readonly #alarm: Alarm<Probing>;
  readonly #pods = new Map<string, Map<string, Probed>>();
  readonly #lanes: Lanes<Probing>;

  constructor(options: ProberOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock, (probing) => this.#lanes.add(probing));
    this.#lanes = new Lanes({ name: this.name, count: lanes, work: (probing, signal) => this.#probe(probing, signal) });
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#lanes.run(signal);
    } finally {
      this.#alarm.stop();
    }
  }

  results(pod: Pod, state: PodState): Findings {
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
    for (const [id, { probings }] of probed) {
      const found = (kind: ProbeKind): ProbeResult => probings.find((one) => one.kind === kind)?.tally.result;
      results.set(id, { startup: found("startup"), liveness: found("liveness"), readiness: found("readiness") });
    }
    return { results, wakeAt: Number.POSITIVE_INFINITY };
  }

  forget(podUid: string): void {
    for (const probed of this.#pods.get(podUid)?.values() ?? []) this.#end(probed);
    this.#pods.delete(podUid);
  }

  #begin(pod: Pod, container: Container, { id, startedAt }: ContainerState): Probed {
    const probed: Probed = { id, startedAt, container, pod, ip: "", probings: [] };
    const known = believed(pod, container.name, id);
    for (const kind of kinds) {
      const probe = probeOf(container, kind);
      const tally = known.has(kind) ? { ...freshTally, result: "success" as const } : freshTally;
      if (probe) probed.probings.push({ kind, probe, of: probed, tally });
    }
    for (const probing of probed.probings)
      if (probing.kind !== "startup" || probing.tally.result === undefined) this.#arm(probing, 0);
    return probed;
  }

  #end({ probings, pod, container }: Probed): void {
    for (const probing of probings) {
      this.#options.counts?.forget({ pod, container: container.name, kind: probing.kind });
      this.#alarm.delete(probing);
      this.#lanes.delete(probing);
    }
  }

  /** Not before the probe's initial delay is over. */
  #arm(probing: Probing, ms: number): void {
    const { clock } = this.#options;
    const earliest = probing.of.startedAt + (probing.probe.initialDelaySeconds ?? 0) * 1000;
    this.#alarm.set(probing, Math.max(ms, earliest - clock.now()));
  }

  #mayAsk({ kind, of }: Probing): boolean {
    const startup = of.probings.find((one) => one.kind === "startup");
    // Armed again when the startup probe has succeeded.
    if (kind !== "startup" && startup && startup.tally.result !== "success") return false;
    // What ends is not asked whether it should live.
    return kind === "readiness" || of.pod.metadata.deletionTimestamp === undefined;
  }

  async #probe(probing: Probing, signal: AbortSignal): Promise<void> {
    if (!this.#mayAsk(probing)) return;
    const { kind, probe, of } = probing;
    const before = probing.tally.result;
    const outcome = await this.#ask(probing, signal);
    if (signal.aborted || !this.#pods.get(of.pod.metadata.uid ?? "")?.has(of.id)) return;
    if (outcome) probing.tally = counted(probing.tally, outcome.result === "failure" ? "failure" : "success", probe);
    const { result } = probing.tally;
    const isOver = (kind === "liveness" && result === "failure") || (kind === "startup" && result !== undefined);
    if (!isOver) this.#arm(probing, probe.periodSeconds * 1000);
    if (result === before) return;
    if (kind === "startup" && result === "success")
      for (const other of of.probings) if (other !== probing) this.#arm(other, 0);
    this.#options.changed(of.pod.metadata.uid ?? "");
  }

  /** What was found, or undefined if nothing could be: then what is believed stays. */
  async #ask({ kind, probe, of }: Probing, signal: AbortSignal): Promise<Outcome | undefined> {
    const { event, counts, clock } = this.#options;
    const about = { pod: of.pod, container: of.container.name, kind };
    const title = `${kind[0]?.toUpperCase()}${kind.slice(1)}`;
    const tell = (reason: string, message: string) => event(of.pod, "Warning", reason, message, of.container.name);
    const begun = clock.elapsed();
    const count = (result: ProbeCount) => counts?.count(about, result, (clock.elapsed() - begun) / 1000);
    for (let attempt = 1; ; attempt++) {
      try {
        const outcome = await askProbe(probe, of, this.#options, signal);
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

/** What an earlier kubelet has told of this very run: a container does not become unready because its kubelet was restarted. */
function believed({ status }: Pod, name: string, id: string): ReadonlySet<ProbeKind> {
  const told = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])].find(
    (one) => one.name === name && one.state.running && one.containerID?.endsWith(`//${id}`),
  );
  return new Set<ProbeKind>([
    ...(told?.started ? ["startup" as const] : []),
    ...(told?.ready ? ["readiness" as const] : []),
  ]);
}
