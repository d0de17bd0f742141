// What an admission plugin is: when it runs, what it may change, and what it refuses.
//
// `mutate` runs before the object is checked and may change it; `validate` runs last and may only refuse. Either refuses by answering
// why, which becomes upstream's `pods "x" is forbidden: <why>`, or by throwing an ApiError where upstream answers otherwise.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/interfaces.go.
import type { Soon } from "#base/soon.ts";
import type { Component } from "#base/supervise.ts";
import type { Infer, Mutable } from "#schema/infer.ts";
import type { AnyKind, Kind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { User } from "#wire/api-request.ts";
import { forbidden } from "#wire/status.ts";
import type { AdmissionCall } from "../registry/admission.ts";
import type { AdmissionServer } from "./server.ts";

export type AdmissionOperation = AdmissionCall["operation"];
/** Why it is refused; undefined if it is not. */
export type AdmissionRefusal = string | undefined;

/** A request as a plugin sees it. */
export interface AdmissionRequest<T, Old = T, V extends AdmissionOperation = AdmissionOperation> {
  /** Absent of deletions, and of most connections. */
  readonly object: T;
  /** What is stored; absent of a create. */
  readonly old: Old;
  /** Whose resource is asked for. Of a subresource, the object may be of another kind: a binding of pods is a `Binding`. */
  readonly kind: AnyKind;
  readonly operation: V;
  /** Empty for the object itself. */
  readonly subresource: string;
  /** Empty for what is in no namespace. */
  readonly namespace: string;
  /** As the path says; empty of a create. */
  readonly name: string;
  readonly user: User;
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
  /** The stored version is what plugins see; this is the one that was asked for. */
  readonly requestedVersion: string;
  /** Its group: events are in two. */
  readonly requestedGroup: string;
  readonly query: URLSearchParams;
  /** Whether plugins that change objects are asked a second time, and why. */
  readonly reinvocation: Reinvocation;
  readonly server: AdmissionServer;
  /** Tells the client something along with the answer. */
  warn(text: string): void;
  /** Tells the audit log something; the first value of a key stays. */
  annotate(key: string, value: string): void;
}

/**
 * When one plugin has changed the object, those before it may have to see it again: all plugins that change objects are then asked once
 * more. What a plugin must remember between the two rounds it keeps here, under its name.
 */
export class Reinvocation {
  isSecondRound = false;
  isWanted = false;
  readonly memory = new Map<string, unknown>();
}

/** One thing a plugin does. */
export interface PluginPart {
  readonly kinds: readonly AnyKind[] | undefined;
  readonly operations: readonly AdmissionOperation[];
  readonly through: readonly string[] | undefined;
  mutate?(asked: AdmissionRequest<DraftObject | undefined, ApiObject | undefined>): Soon<AdmissionRefusal>;
  validate?(asked: AdmissionRequest<ApiObject | undefined>): Soon<AdmissionRefusal>;
}

export interface AdmissionPlugin {
  readonly name: string;
  readonly parts: readonly PluginPart[];
  /** Work that goes on beside requests for as long as the server runs. */
  background?(server: AdmissionServer): Component;
}

/** When a plugin runs: for objects of a kind, or of any where none is named. */
interface On<K, V extends AdmissionOperation> {
  readonly kind?: K | undefined;
  readonly verbs: readonly V[];
  /** The subresources it also, or only, minds; "" is the object itself, which is the default. "*" stands for every one. */
  readonly through?: readonly string[];
}

type AdmittedObject<T, V extends AdmissionOperation> =
  Extract<V, "delete" | "connect"> extends never ? T : T | undefined;
type PreviousObject<T, V extends AdmissionOperation> = V extends "update" | "delete" ? T : undefined;

interface Rules<K, T, M, V extends AdmissionOperation> {
  readonly name: string;
  readonly on: On<K, V>;
  mutate?(asked: AdmissionRequest<AdmittedObject<M, V>, PreviousObject<T, V>, V>): Soon<AdmissionRefusal>;
  validate?(asked: AdmissionRequest<AdmittedObject<T, V>, PreviousObject<T, V>, V>): Soon<AdmissionRefusal>;
}

/** Of a kind that is only known at run time, any object. */
type ObjectOf<K extends AnyKind> = K extends Kind<infer F> ? (0 extends 1 & F ? ApiObject : Infer<K>) : never;
type DraftOf<K extends AnyKind> = K extends Kind<infer F> ? (0 extends 1 & F ? DraftObject : Mutable<Infer<K>>) : never;

export function admissionPlugin<K extends AnyKind, V extends AdmissionOperation>(
  rules: Rules<K, ObjectOf<K>, DraftOf<K>, V> & { readonly on: { readonly kind: K } },
): AdmissionPlugin;
export function admissionPlugin<V extends AdmissionOperation>(
  rules: Rules<undefined, ApiObject, DraftObject, V> & { readonly on: { readonly kind?: undefined } },
): AdmissionPlugin;
export function admissionPlugin(rules: {
  readonly name: string;
  readonly on: On<AnyKind, AdmissionOperation>;
  readonly mutate?: unknown;
  readonly validate?: unknown;
}): AdmissionPlugin {
  const { name, on, mutate, validate } = rules;
  const part: unknown = {
    kinds: on.kind && [on.kind],
    operations: on.verbs,
    through: on.through?.includes("*") ? undefined : (on.through ?? [""]),
    mutate,
    validate,
  };
  // The kind says what the object is, and the chain asks a part only about objects of its kind.
  return { name, parts: [part as PluginPart] };
}

/** One plugin that does several things, each in its own place. */
export const pluginOf = (name: string, ...plugins: readonly AdmissionPlugin[]): AdmissionPlugin => ({
  name,
  parts: plugins.flatMap(({ parts }) => parts),
});

/** What the cache has; if it has nothing, what it has once it holds every write that was acknowledged. */
export function find<K extends AnyKind>(
  asked: Pick<AdmissionRequest<unknown>, "server" | "signal">,
  kind: K,
  name: string,
  namespace?: string,
): Soon<Infer<K> | undefined> {
  const { server } = asked;
  return (
    server.get(kind, name, namespace) ?? server.settled(asked.signal).then(() => server.get(kind, name, namespace))
  );
}

/** Upstream's name for what is refused: before a name has been generated, what it will begin with. */
export const nameIn = ({ name, object }: Pick<AdmissionRequest<ApiObject | undefined>, "name" | "object">): string =>
  name || object?.metadata.name || object?.metadata.generateName || "Unknown";

/** The refusal of a plugin. */
export const refused = (
  asked: Pick<AdmissionRequest<ApiObject | undefined>, "name" | "object" | "kind">,
  why: string,
) => forbidden({ group: asked.kind.group, resource: asked.kind.plural }, nameIn(asked), why);

/** Several problems in one text, as upstream joins them: each once, in brackets when there are more. */
export function joined(problems: readonly string[]): AdmissionRefusal {
  const texts = [...new Set(problems)];
  return texts.length > 1 ? `[${texts.join(", ")}]` : texts[0];
}
