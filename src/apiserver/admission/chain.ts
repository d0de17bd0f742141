// Runs the plugins in order: first all that may change the object, then, once it has been checked, all that may refuse it.
import type { Soon } from "#base/soon.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { Admission, AdmissionCall } from "../registry/admission.ts";
import { AdmissionMetrics, type AdmissionType, type Durations } from "./metrics.ts";
import { type AdmissionPlugin, type Asked, type PluginPart, type Refusal, refused } from "./plugin.ts";
import type { AdmissionServer } from "./server.ts";

interface Applicable {
  readonly mutating: Step;
  readonly validating: Step;
}

/** The plugins that are asked at one point. */
interface Step {
  readonly parts: readonly OnePart[];
  readonly durations: Durations | undefined;
}

interface OnePart {
  readonly part: PluginPart;
  readonly durations: Durations | undefined;
}

export function admissionChain(plugins: readonly AdmissionPlugin[], server: AdmissionServer): Admission {
  const parts = plugins.flatMap(({ name, parts }) => parts.map((part) => ({ name, part })));
  const known = new WeakMap<AnyKind, Map<string, Applicable>>();
  const metrics = server.metrics && new AdmissionMetrics(server.metrics, server.clock);

  const applicable = ({ kind, operation, request }: AdmissionCall): Applicable => {
    const { subresource = "" } = request;
    const place = subresource === "" ? operation : `${operation} ${subresource}`;
    const ofKind = known.get(kind) ?? new Map<string, Applicable>();
    known.set(kind, ofKind);
    const present = ofKind.get(place);
    if (present) return present;
    const asked = parts.filter(
      ({ part: { kinds, operations, through } }) =>
        operations.includes(operation) &&
        (!kinds || kinds.includes(kind)) &&
        (!through || through.includes(subresource)),
    );
    const step = (type: AdmissionType, isIn: (part: PluginPart) => boolean): Step => ({
      parts: asked
        .filter(({ part }) => isIn(part))
        .map(({ name, part }) => ({ part, durations: metrics?.ofPlugin(name, type, operation) })),
      durations: metrics?.ofStep(type, operation),
    });
    const found = {
      mutating: step("admit", ({ mutate }) => mutate !== undefined),
      validating: step("validate", ({ validate }) => validate !== undefined),
    };
    ofKind.set(place, found);
    return found;
  };

  return {
    mutate(call, object) {
      const { mutating } = applicable(call);
      if (mutating.parts.length === 0) return undefined;
      const asked = askedOf(call, object, server);
      return new Round(
        mutating,
        (part) => part.mutate?.(asked),
        (why) => refused(asked, why),
        metrics,
      ).from(0);
    },
    validate(call, object) {
      const { validating } = applicable(call);
      if (validating.parts.length === 0) return undefined;
      const asked = askedOf(call, object, server);
      return new Round(
        validating,
        (part) => part.validate?.(asked),
        (why) => refused(asked, why),
        metrics,
      ).from(0);
    },
  };
}

/** One request before the plugins of a step. */
class Round {
  readonly #step: Step;
  readonly #ask: (part: PluginPart) => Soon<Refusal>;
  readonly #refuse: (why: string) => Error;
  readonly #metrics: AdmissionMetrics | undefined;
  readonly #start: number;
  #last: number;

  constructor(
    step: Step,
    ask: (part: PluginPart) => Soon<Refusal>,
    refuse: (why: string) => Error,
    metrics: AdmissionMetrics | undefined,
  ) {
    this.#step = step;
    this.#ask = ask;
    this.#refuse = refuse;
    this.#metrics = metrics;
    this.#start = metrics?.now() ?? 0;
    this.#last = this.#start;
  }

  /** Asks one after another, from this one on; the first that refuses ends it. */
  from(first: number): Promise<void> | undefined {
    const { parts, durations } = this.#step;
    for (let i = first; i < parts.length; i++) {
      const one = parts[i] as OnePart;
      try {
        const answer = this.#ask(one.part);
        if (answer instanceof Promise) return this.#later(one, answer, i + 1);
        this.#heard(one, answer);
      } catch (error) {
        this.#rejected(one);
        throw error;
      }
    }
    durations?.passed(this.#last - this.#start);
    return undefined;
  }

  async #later(one: OnePart, answer: Promise<Refusal>, next: number): Promise<void> {
    try {
      this.#heard(one, await answer);
    } catch (error) {
      this.#rejected(one);
      throw error;
    }
    await this.from(next);
  }

  #heard({ durations }: OnePart, why: Refusal): void {
    if (why !== undefined) throw this.#refuse(why);
    if (!durations || !this.#metrics) return;
    const now = this.#metrics.now();
    durations.passed(now - this.#last);
    this.#last = now;
  }

  #rejected({ durations }: OnePart): void {
    const now = this.#metrics?.now() ?? 0;
    durations?.rejected(now - this.#last);
    this.#step.durations?.rejected(now - this.#start);
  }
}

function askedOf<T extends ApiObject | DraftObject | undefined>(
  { kind, operation, old, dryRun, request }: AdmissionCall,
  object: T,
  server: AdmissionServer,
): Asked<T, ApiObject | undefined> {
  const { subresource = "", name = "", namespace, user, signal, version, warn } = request;
  return {
    object,
    old,
    kind,
    operation,
    subresource,
    namespace: namespace ?? object?.metadata?.namespace ?? "",
    name,
    user,
    dryRun,
    signal,
    requestedVersion: version,
    server,
    warn: (text) => warn?.(text),
  };
}
