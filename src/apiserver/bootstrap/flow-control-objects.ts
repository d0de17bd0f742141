// Makes the flow schemas and priority levels that every server has, and keeps them as this version wants them. Those that nobody can
// change are always put right; those that are suggested only while their annotation, or the fact that nobody has changed them, permits it.
// Upstream: pkg/registry/flowcontrol/ensurer.
import { FlowSchema } from "#api/flowcontrol/v1/flow-schema.ts";
import { mandatoryFlowSchemas, mandatoryPriorityLevels } from "#api/flowcontrol/v1/mandatory.ts";
import { PriorityLevelConfiguration } from "#api/flowcontrol/v1/priority-level-configuration.ts";
import { equal } from "#base/collections.ts";
import { ApiError } from "#base/errors.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { ServedResource } from "../served-resource.ts";
import { flowSchemas, priorityLevels } from "./flow-control.ts";
import type { SystemObject } from "./objects.ts";
import type { ServerWrites } from "./server-writes.ts";

const manager = "api-priority-and-fairness-config-producer-v1";
const autoUpdate = "apf.kubernetes.io/autoupdate-spec";

/** What another server, or a person, did at the same time: it is looked at again the next time. */
const meanwhile: ReadonlySet<string> = new Set(["AlreadyExists", "Conflict", "NotFound"]);

export class FlowControlObjects {
  readonly #find: (kind: AnyKind) => ServedResource;
  readonly #writes: ServerWrites;

  constructor(find: (kind: AnyKind) => ServedResource, writes: ServerWrites) {
    this.#find = find;
    this.#writes = writes;
  }

  /** Levels come first: a schema without its level leads nowhere. */
  async reconcile(signal: AbortSignal): Promise<void> {
    await Promise.all(priorityLevels.map((wanted) => this.#ensure(wanted, mandatoryPriorityLevels, signal)));
    await Promise.all(flowSchemas.map((wanted) => this.#ensure(wanted, mandatoryFlowSchemas, signal)));
    await this.#removeUnwanted(FlowSchema, flowSchemas, signal);
    await this.#removeUnwanted(PriorityLevelConfiguration, priorityLevels, signal);
  }

  async #ensure(
    { kind, object }: SystemObject,
    mandatory: ReadonlyMap<string, object>,
    signal: AbortSignal,
  ): Promise<void> {
    const { registry } = this.#find(kind);
    const { name = "" } = object.metadata;
    const present = (await registry.objects.current(registry.keyOf(undefined, name), { signal }))?.object;
    const revised = present && revisedObject(present, object, mandatory.has(name));
    if (!present) await this.#attempt(() => this.#writes.create(kind, object, signal, manager));
    else if (revised) await this.#attempt(() => this.#writes.update(kind, revised, signal, manager));
  }

  /** What an earlier version suggested and this one does not. */
  async #removeUnwanted(kind: AnyKind, wanted: readonly SystemObject[], signal: AbortSignal): Promise<void> {
    const { registry } = this.#find(kind);
    const names = new Set(wanted.map(({ object }) => object.metadata.name));
    for (const { object } of registry.objects.allInMemory(registry.prefixOf(undefined))) {
      if (names.has(object.metadata.name) || parseBool(object.metadata.annotations?.[autoUpdate]) !== true) continue;
      await this.#attempt(() => this.#writes.remove(kind, object, signal));
    }
  }

  async #attempt(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (!(error instanceof ApiError) || !meanwhile.has(error.reason)) throw error;
    }
  }
}

/** The object as it should be; undefined if it is so already. */
export function revisedObject(present: ApiObject, wanted: DraftObject, isMandatory: boolean): ApiObject | undefined {
  const { annotations = {}, generation } = present.metadata;
  const told = parseBool(annotations[autoUpdate]);
  // Without a word about it, what nobody has changed since it was made is ours to change.
  const isOurs = isMandatory || (told ?? generation === 1);
  const isChanged = isOurs && !equal(present.spec, specFor(present, wanted));
  if (!isChanged && told === isOurs) return undefined;
  return {
    ...present,
    metadata: { ...present.metadata, annotations: { ...annotations, [autoUpdate]: String(isOurs) } },
    ...(isChanged && { spec: specFor(present, wanted) }),
  };
}

/** How much an exempt level lends is for people to say. */
function specFor(present: ApiObject, wanted: DraftObject): unknown {
  const spec = wanted.spec as { readonly type?: string };
  if (spec.type !== "Exempt") return spec;
  const exempt = (present.spec as { readonly exempt?: unknown }).exempt;
  return exempt === undefined ? spec : { ...spec, exempt };
}

/** As Go reads it. */
function parseBool(text: string | undefined): boolean | undefined {
  if (text !== undefined && /^(1|t|T|TRUE|true|True)$/.test(text)) return true;
  return text !== undefined && /^(0|f|F|FALSE|false|False)$/.test(text) ? false : undefined;
}
