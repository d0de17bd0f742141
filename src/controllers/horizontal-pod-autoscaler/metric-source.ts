// Where metrics come from: three groups of the API, which the process itself or servers behind APIServices answer for.
// Upstream: pkg/controller/podautoscaler/metrics/client.go.
import type { CrossVersionObjectReference } from "#api/autoscaling/v2/horizontal-pod-autoscaler.ts";
import { ExternalMetricValue, type MetricValue, metricValueLists } from "#api/metrics/custom-metrics.ts";
import { PodMetrics } from "#api/metrics/v1beta1/pod-metrics.ts";
import { parseDurationMs } from "#base/duration.ts";
import { ApiError, explain, isNotFound } from "#base/errors.ts";
import type { Client } from "#client/client.ts";
import type { Discovery } from "#client/discovery.ts";
import { resourceName } from "#client/object-key.ts";
import { groupOf } from "#schema/api-version.ts";
import type { AnyKind } from "#schema/kind.ts";
import { millisOf } from "#schema/time.ts";
import { type MetricsByPod, milli, type PodMetric } from "./pod-groups.ts";

/** What a metric of a custom or external API is asked for by. */
export interface MetricQuery {
  readonly name: string;
  /** In text form; empty for all. */
  readonly selector: string;
}

/** Selectors of pods are in text form. Values are in thousandths. Everything throws Error in upstream's words. */
export class MetricSource {
  readonly #client: Client;
  readonly #discovery: Discovery;
  readonly #namespace: string;

  constructor(client: Client, discovery: Discovery, namespace: string) {
    this.#client = client;
    this.#discovery = discovery;
    this.#namespace = namespace;
  }

  /** What pods use of a resource, or what one container of each does. Pods of which any part is not known are left out. */
  async resource(resource: string, podSelector: string, container: string): Promise<MetricsByPod> {
    const options = { namespace: this.#namespace, labelSelector: podSelector };
    const items = await fetched(
      "resource metrics API",
      PodMetrics,
      async () => (await this.#client.list(PodMetrics, options)).items,
    );
    return new Map(
      items.flatMap(({ metadata, timestamp, window, containers }): [string, PodMetric][] => {
        const meant = container === "" ? containers : containers.filter(({ name }) => name === container).slice(0, 1);
        const amounts = meant.flatMap(({ usage }) => usage[resource] ?? []);
        if (meant.length === 0 || amounts.length < meant.length) return [];
        const value = amounts.reduce((sum, amount) => sum + milli(amount), 0n);
        return [[metadata.name, { at: millisOf(timestamp), windowMs: parseDurationMs(window), value }]];
      }),
    );
  }

  /** A metric of each pod. */
  async pods({ name, selector }: MetricQuery, podSelector: string): Promise<MetricsByPod> {
    const place = { resource: "pods", name: "*", subresource: name };
    const items = await this.#custom(place, { labelSelector: podSelector, metricLabelSelector: selector });
    if (items.length === 0) throw new Error("no metrics returned from custom metrics API");
    return new Map(
      items.map(({ describedObject, timestamp, windowSeconds, window, value }): [string, PodMetric] => [
        describedObject.name ?? "",
        {
          at: millisOf(timestamp),
          windowMs: (windowSeconds ?? window ?? defaultWindowSeconds) * 1000,
          value: milli(value),
        },
      ]),
    );
  }

  /** A metric of one object of the namespace, or of the namespace itself. */
  async object({ name, selector }: MetricQuery, about: CrossVersionObjectReference): Promise<bigint> {
    const isNamespace = about.kind === "Namespace" && groupOf(about.apiVersion ?? "") === "";
    const place = isNamespace
      ? { resource: "metrics", name }
      : { resource: await this.#resourceOf(about), name: about.name, subresource: name };
    const [item, ...others] = await this.#custom(place, { metricLabelSelector: selector });
    if (!item || others.length > 0) {
      const count = item ? others.length + 1 : 0;
      throw fetchError(
        "custom metrics API",
        `the custom metrics API server returned ${count} results when we asked for exactly one`,
      );
    }
    return milli(item.value);
  }

  /** All values of a metric from outside. */
  async external({ name, selector }: MetricQuery): Promise<readonly bigint[]> {
    const of: typeof ExternalMetricValue = { ...ExternalMetricValue, plural: name };
    const options = { namespace: this.#namespace, labelSelector: selector };
    const items = await fetched("external metrics API", of, async () => (await this.#client.list(of, options)).items);
    return items.map(({ value }) => milli(value));
  }

  async #resourceOf({ kind, apiVersion = "" }: CrossVersionObjectReference): Promise<string> {
    const group = groupOf(apiVersion);
    const { kinds } = await this.#discovery.discover(this.#client.signal);
    const found = kinds.find((one) => one.kind === kind && one.group === group);
    const named = group === "" ? kind : `${kind}.${group}`;
    if (!found)
      throw fetchError(
        "custom metrics API",
        `unable to map kind ${named} to resource: no matches for kind ${JSON.stringify(kind)} in group ${JSON.stringify(group)}`,
      );
    return resourceName(found);
  }

  /** In the newest version that is served. */
  async #custom(
    {
      resource,
      name,
      subresource,
    }: { readonly resource: string; readonly name: string; readonly subresource?: string },
    selectors: Readonly<Record<string, string>>,
  ): Promise<readonly MetricValue[]> {
    const query = Object.fromEntries(Object.entries(selectors).filter(([, text]) => text !== ""));
    let refusal: unknown;
    for (const list of metricValueLists) {
      const base: AnyKind = list;
      const of: AnyKind = { ...base, plural: resource };
      const place = { namespace: this.#namespace, name };
      try {
        return (await this.#client.get(list, place, { of, query, ...(subresource !== undefined && { subresource }) }))
          .items;
      } catch (error) {
        if (!isNotFound(error)) throw fetchError("custom metrics API", said(error, of));
        if (refusal === undefined || isUnserved(refusal)) refusal = error;
      }
    }
    const newest: AnyKind = metricValueLists[0];
    throw fetchError("custom metrics API", said(refusal, { ...newest, plural: resource }));
  }
}

/** Of custom metrics that do not say theirs. */
const defaultWindowSeconds = 60;

async function fetched<T>(api: string, kind: AnyKind, ask: () => Promise<readonly T[]>): Promise<readonly T[]> {
  const items = await ask().catch((error: unknown) => {
    throw fetchError(api, said(error, kind));
  });
  if (items.length === 0) throw new Error(`no metrics returned from ${api}`);
  return items;
}

const fetchError = (api: string, why: string): Error => new Error(`unable to fetch metrics from ${api}: ${why}`);

const unserved = "the server could not find the requested resource";
const isUnserved = (error: unknown): boolean => error instanceof ApiError && error.message === unserved;

/** Of what is not served at all, upstream's client says what was asked for. */
const said = (error: unknown, kind: AnyKind): string =>
  isUnserved(error) ? `${unserved} (get ${resourceName(kind)})` : explain(error);
