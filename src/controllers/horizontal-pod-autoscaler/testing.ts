// A target, its pods and servers of metrics, for tests of the controller: what it asks for, what it gets, and what it makes of it.
import { Deployment } from "#api/apps/v1/deployment.ts";
import type { Scale } from "#api/autoscaling/v1/scale.ts";
import { HorizontalPodAutoscaler } from "#api/autoscaling/v2/horizontal-pod-autoscaler.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ManualClock } from "#base/clock.ts";
import { ApiError } from "#base/errors.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { Cache } from "#client/cache.ts";
import { Client, type Transport } from "#client/client.ts";
import { cacheView, type Reconcile } from "#client/controller.ts";
import { fixedDiscovery } from "#client/discovery.ts";
import { pathOf } from "#client/request-url.ts";
import { applyDefaults } from "#schema/defaults.ts";
import type { Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import { timeOf } from "#schema/time.ts";
import { horizontalPodAutoscalerController } from "./horizontal-pod-autoscaler.ts";

type ApiRequest = Parameters<Transport>[0];
type ApiResponse = Awaited<ReturnType<Transport>>;

const syncMs = 15_000;

export class AutoscalerWorld {
  readonly clock = new ManualClock("2026-01-01T00:00:00Z");
  readonly controller = horizontalPodAutoscalerController(fixedDiscovery([Deployment]));
  readonly pods = new Cache<unknown>();
  /** What servers of metrics answer, by path and query; what is not here is not found. */
  readonly answers = new Map<string, readonly object[]>();
  readonly asked: string[] = [];
  readonly events: string[] = [];
  /** Errors for the next writes of the scale. */
  readonly refusals: ApiError[] = [];
  scale = { replicas: 1, current: 1, selector: "app=web" };
  autoscaler: HorizontalPodAutoscaler;

  constructor(spec: object, name = "web") {
    this.autoscaler = applyDefaults(HorizontalPodAutoscaler, {
      apiVersion: HorizontalPodAutoscaler.apiVersion,
      kind: HorizontalPodAutoscaler.kind,
      metadata: { name, namespace: "ns", creationTimestamp: timeOf(this.clock.now()) },
      spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" }, maxReplicas: 10, ...spec },
    }) as object as HorizontalPodAutoscaler;
  }

  /** So many pods that have been ready for an hour. */
  havePods(count: number): void {
    this.scale = { ...this.scale, replicas: count, current: count };
    this.pods.clear();
    const ready = timeOf(this.clock.now() - 3_600_000);
    for (let i = 0; i < count; i++)
      this.pods.set(
        `ns/p${i}`,
        applyDefaults(Pod, {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name: `p${i}`, namespace: "ns", labels: { app: "web" } },
          spec: { containers: [{ name: "main", image: "x", resources: { requests: { cpu: "1" } } }] },
          status: {
            phase: "Running",
            startTime: ready,
            conditions: [{ type: "Ready", status: "True", lastTransitionTime: ready }],
          },
        }),
      );
  }

  /** What each pod uses of its processor. */
  use(...amounts: readonly string[]): void {
    this.answers.set(
      "/apis/metrics.k8s.io/v1beta1/namespaces/ns/pods?labelSelector=app%3Dweb",
      amounts.map((cpu, i) => ({
        metadata: { name: `p${i}`, namespace: "ns" },
        timestamp: timeOf(this.clock.now()),
        window: "15s",
        containers: [{ name: "main", usage: { cpu } }],
      })),
    );
  }

  /** One look at the autoscaler, when the next is due. */
  async sync(): Promise<void> {
    for (let again = await this.#look(); ; again = await this.#look()) {
      if (!again) return;
      await this.clock.advance(again.afterMs);
      if (again.afterMs === syncMs && this.#hasLooked) return;
    }
  }

  condition(type: string): string | undefined {
    const found = this.autoscaler.status.conditions?.find((one) => one.type === type);
    return found && `${found.status} ${found.reason}: ${found.message}`;
  }

  #hasLooked = false;

  async #look() {
    const before = this.asked.length;
    const context: Reconcile = {
      client: new Client({
        transport: (request) => this.#answer(request),
        user: { name: "test", groups: [] },
        userAgent: "test/1",
        signal: new AbortController().signal,
      }),
      cache: cacheView(
        <K extends AnyKind>(kind: K) =>
          ((kind as AnyKind) === Pod ? this.pods : new Cache<unknown>()) as Cache<Infer<K>>,
      ),
      clock: this.clock,
      random: seededRandom(1),
      log: silentLog,
      signal: new AbortController().signal,
      event: (type, reason, message) => void this.events.push(`${type} ${reason} ${message}`),
    };
    const again = await this.controller.reconcile(this.autoscaler, context);
    this.#hasLooked = this.asked.length > before;
    return again || undefined;
  }

  async #answer(request: ApiRequest): Promise<ApiResponse> {
    const { verb, subresource, group, body } = request;
    if (group !== "apps" || verb === "get") this.asked.push(`${verb} ${pathOf(request)}`);
    if (subresource === "scale") return plain(this.#scale(verb, body?.value() as Scale | undefined));
    if (subresource === "status" && body) {
      const { status } = body.value() as HorizontalPodAutoscaler;
      this.autoscaler = { ...this.autoscaler, status };
      return plain(this.autoscaler);
    }
    const items = this.answers.get(pathOf(request));
    const unserved = "the server could not find the requested resource";
    if (!items) throw new ApiError({ code: 404, reason: "NotFound", message: unserved });
    if (verb === "get") return plain({ items });
    const page = {
      resourceVersion: "",
      items: items.map((object) => ({ object: object as ApiObject, json: new Uint8Array() })),
    };
    return { type: "list", page: { ...page, kind: request.expects as AnyKind } };
  }

  #scale(verb: string, sent: Scale | undefined): object {
    if (verb === "update" && sent) {
      const refusal = this.refusals.shift();
      if (refusal) throw refusal;
      this.scale = { ...this.scale, replicas: sent.spec.replicas };
    }
    const { replicas, current, selector } = this.scale;
    const metadata = { name: "web", namespace: "ns" };
    return { metadata, spec: { replicas }, status: { replicas: current, selector } };
  }
}

const plain = (object: object): ApiResponse => ({ type: "plain", code: 200, object: object as never });
