// Runs the plugins in order: first all that may change the object, then, once it has been checked, all that may refuse it.
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { Admission, AdmissionCall } from "../registry/admission.ts";
import { type AdmissionPlugin, type Asked, type PluginPart, refused } from "./plugin.ts";
import type { AdmissionServer } from "./server.ts";

interface Applicable {
  readonly mutating: readonly PluginPart[];
  readonly validating: readonly PluginPart[];
}

export function admissionChain(plugins: readonly AdmissionPlugin[], server: AdmissionServer): Admission {
  const parts = plugins.flatMap((plugin) => plugin.parts);
  const known = new Map<AnyKind, Map<string, Applicable>>();

  const applicable = ({ kind, operation, request }: AdmissionCall): Applicable => {
    const { subresource = "" } = request;
    const place = subresource === "" ? operation : `${operation} ${subresource}`;
    const ofKind = known.get(kind) ?? new Map<string, Applicable>();
    known.set(kind, ofKind);
    const present = ofKind.get(place);
    if (present) return present;
    const asked = parts.filter(
      ({ kinds, operations, through }) =>
        operations.includes(operation) &&
        (!kinds || kinds.includes(kind)) &&
        (!through || through.includes(subresource)),
    );
    const found = {
      mutating: asked.filter(({ mutate }) => mutate),
      validating: asked.filter(({ validate }) => validate),
    };
    ofKind.set(place, found);
    return found;
  };

  return {
    async mutate(call, object) {
      const { mutating } = applicable(call);
      if (mutating.length === 0) return;
      const asked = askedOf(call, object, server);
      for (const part of mutating) {
        const why = await part.mutate?.(asked);
        if (why !== undefined) throw refused(asked, why);
      }
    },
    async validate(call, object) {
      const { validating } = applicable(call);
      if (validating.length === 0) return;
      const asked = askedOf(call, object, server);
      for (const part of validating) {
        const why = await part.validate?.(asked);
        if (why !== undefined) throw refused(asked, why);
      }
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
