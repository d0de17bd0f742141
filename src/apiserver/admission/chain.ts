// Runs the plugins in order: first all that may change the object, then, once it has been checked, all that may refuse it.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/chain.go.
import type { Soon } from "#base/soon.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { ApiRequest, User } from "#wire/api-request.ts";
import type { Admission, AdmissionCall } from "../registry/admission.ts";
import { AdmissionMetrics, type AdmissionType, type Durations } from "./metrics.ts";
import {
  type AdmissionPlugin,
  type AdmissionRefusal,
  type AdmissionRequest,
  type PluginPart,
  Reinvocation,
  refused,
} from "./plugin.ts";
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
    background: plugins.flatMap(({ background }) => background?.(server) ?? []),
    mutate(call, object) {
      const { mutating } = applicable(call);
      if (mutating.parts.length === 0) return undefined;
      const asked = new AskedOnce(call, object, server);
      const round = () => new Round(mutating, mutate, asked, metrics).from(0);
      const again = () => (asked.beginsAgain() ? round() : undefined);
      const first = round();
      return first ? first.then(again) : again();
    },
    validate(call, object) {
      const { validating } = applicable(call);
      if (validating.parts.length === 0) return undefined;
      return new Round(validating, validate, new AskedOnce(call, object, server), metrics).from(0);
    },
  };
}

type AnyAsked = AdmissionRequest<DraftObject | undefined, ApiObject | undefined>;
type Ask = (part: PluginPart, asked: AnyAsked) => Soon<AdmissionRefusal>;

const mutate: Ask = (part, asked) => part.mutate?.(asked);
const validate: Ask = (part, asked) => part.validate?.(asked as AdmissionRequest<ApiObject | undefined>);

/** One request before the plugins of a step. */
class Round {
  readonly #step: Step;
  readonly #ask: Ask;
  readonly #asked: AnyAsked;
  readonly #metrics: AdmissionMetrics | undefined;
  readonly #start: number;
  #last: number;

  constructor(step: Step, ask: Ask, asked: AnyAsked, metrics: AdmissionMetrics | undefined) {
    this.#step = step;
    this.#ask = ask;
    this.#asked = asked;
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
        const answer = this.#ask(one.part, this.#asked);
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

  async #later(one: OnePart, answer: Promise<AdmissionRefusal>, next: number): Promise<void> {
    try {
      this.#heard(one, await answer);
    } catch (error) {
      this.#rejected(one);
      throw error;
    }
    await this.from(next);
  }

  #heard({ durations }: OnePart, why: AdmissionRefusal): void {
    if (why !== undefined) throw refused(this.#asked, why);
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

/** What one step asks all its plugins. The signal is only asked for by those that may have to wait: a request makes it then. */
class AskedOnce implements AnyAsked {
  readonly object: DraftObject | undefined;
  readonly old: ApiObject | undefined;
  readonly kind: AnyKind;
  readonly operation: AdmissionCall["operation"];
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly user: User;
  readonly dryRun: boolean;
  readonly requestedVersion: string;
  readonly requestedGroup: string;
  readonly server: AdmissionServer;
  readonly #request: ApiRequest;
  #reinvocation: Reinvocation | undefined;

  constructor(
    { kind, operation, old, dryRun, request }: AdmissionCall,
    object: ApiObject | DraftObject | undefined,
    server: AdmissionServer,
  ) {
    const { subresource = "", name = "", namespace, user, version } = request;
    this.object = object as DraftObject | undefined;
    this.old = old;
    this.kind = kind;
    this.operation = operation;
    this.subresource = subresource;
    this.namespace = namespace ?? object?.metadata?.namespace ?? "";
    this.name = name;
    this.user = user;
    this.dryRun = dryRun;
    this.requestedVersion = version;
    this.requestedGroup = request.group;
    this.server = server;
    this.#request = request;
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  get query(): URLSearchParams {
    return this.#request.query;
  }

  /** Most requests are changed by nobody whom it concerns. */
  get reinvocation(): Reinvocation {
    this.#reinvocation ??= new Reinvocation();
    return this.#reinvocation;
  }

  /** Whether there is to be a second round, which then begins. There is never a third. */
  beginsAgain(): boolean {
    const reinvocation = this.#reinvocation;
    if (!reinvocation?.isWanted || reinvocation.isSecondRound) return false;
    reinvocation.isSecondRound = true;
    return true;
  }

  warn(text: string): void {
    this.#request.warn?.(text);
  }

  annotate(key: string, value: string): void {
    this.#request.audit?.annotate(key, value);
  }
}
