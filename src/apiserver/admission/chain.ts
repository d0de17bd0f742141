// Runs the plugins in order: first all that may change the object, then, once it has been checked, all that may refuse it.
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
  readonly parts: readonly { readonly part: PluginPart; readonly durations: Durations | undefined }[];
  readonly durations: Durations | undefined;
}

export function admissionChain(plugins: readonly AdmissionPlugin[], server: AdmissionServer): Admission {
  const parts = plugins.flatMap(({ name, parts }) => parts.map((part) => ({ name, part })));
  const known = new Map<AnyKind, Map<string, Applicable>>();
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

  /** Asks one after another; the first that refuses ends it. */
  const ask = async (
    { parts, durations: whole }: Step,
    refuses: (part: PluginPart) => Refusal | Promise<Refusal>,
    refuse: (why: string) => Error,
  ): Promise<void> => {
    const start = metrics?.now() ?? 0;
    let last = start;
    for (const { part, durations } of parts) {
      try {
        const answer = refuses(part);
        const why = answer instanceof Promise ? await answer : answer;
        if (why !== undefined) throw refuse(why);
      } catch (error) {
        const now = metrics?.now() ?? 0;
        durations?.rejected(now - last);
        whole?.rejected(now - start);
        throw error;
      }
      if (!durations || !metrics) continue;
      const now = metrics.now();
      durations.passed(now - last);
      last = now;
    }
    whole?.passed(last - start);
  };

  return {
    async mutate(call, object) {
      const { mutating } = applicable(call);
      if (mutating.parts.length === 0) return;
      const asked = askedOf(call, object, server);
      await ask(
        mutating,
        (part) => part.mutate?.(asked),
        (why) => refused(asked, why),
      );
    },
    async validate(call, object) {
      const { validating } = applicable(call);
      if (validating.parts.length === 0) return;
      const asked = askedOf(call, object, server);
      await ask(
        validating,
        (part) => part.validate?.(asked),
        (why) => refused(asked, why),
      );
    },
  };
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
