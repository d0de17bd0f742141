// One node in the API: registers it, renews its lease, reports its status. It has no timer of its own: it returns when it wants to be
// called next, so that thousands of nodes can share one.
// Upstream: pkg/kubelet/kubelet_node_status.go.
import { Lease } from "#api/coordination/v1/lease.ts";
import { Node, type NodeCondition } from "#api/core/v1/node.ts";
import type { Clock } from "#base/clock.ts";
import { equal } from "#base/collections.ts";
import { isConflict, isNotFound, isReason } from "#base/errors.ts";
import type { Random } from "#base/random.ts";
import { backoffMs } from "#base/retry.ts";
import type { Client } from "#client/client.ts";
import { microTimeOf } from "#schema/time.ts";
import { type NodeDescription, type NodeHealth, nodeObject, nodeStatus, standardLabels } from "./description.ts";

export interface NodeAgentOptions {
  readonly description: NodeDescription;
  /** Acts as the node. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  /** Whether it makes the Node where there is none; otherwise it waits until somebody has. Defaults to true. */
  readonly registers?: boolean;
  /** How long others wait for a renewal, in seconds. */
  readonly leaseSeconds?: number;
  readonly renewMs?: number;
  /** How often the status is reported when nothing has changed. */
  readonly reportMs?: number;
  /** Offset of the renewal within that period, so that the nodes of a group do not renew at the same time. */
  readonly phaseMs?: number;
}

const leaseNamespace = "kube-node-lease";
const registrationRetry = { firstMs: 100, maxMs: 7000 };
const retryMs = 1000;

export class NodeAgent {
  readonly #options: Required<NodeAgentOptions>;
  #health: NodeHealth = {};
  /** Uid of the registered node. The object is not kept, since there may be thousands. */
  #uid: string | undefined;
  #conditions: readonly NodeCondition[] = [];
  #lease: Lease | undefined;
  #failures = 0;
  #renewAt = 0;
  #reportAt = 0;

  constructor(options: NodeAgentOptions) {
    const renewMs = options.renewMs ?? ((options.leaseSeconds ?? 40) * 1000) / 4;
    this.#options = { leaseSeconds: 40, renewMs, reportMs: 300_000, phaseMs: 0, registers: true, ...options };
  }

  get description(): NodeDescription {
    return this.#options.description;
  }

  get name(): string {
    return this.description.name;
  }

  get isRegistered(): boolean {
    return this.#uid !== undefined;
  }

  /** Sets the health, which the next `sync` reports if it has changed. */
  set health(health: NodeHealth) {
    if (equal(health, this.#health)) return;
    this.#health = health;
    this.#reportAt = 0;
  }

  /** Does what is due, and resolves with the milliseconds until the next call. Rejects if the API refuses. */
  async sync(signal: AbortSignal): Promise<number> {
    const { clock, phaseMs, renewMs, reportMs, random } = this.#options;
    const api = this.#options.client.bound({ signal });
    if (!this.isRegistered) {
      await this.#register(api);
      await this.#renew(api);
      const now = clock.elapsed();
      const passed = (((now - phaseMs) % renewMs) + renewMs) % renewMs;
      this.#renewAt = now + renewMs - passed;
      this.#reportAt = now + reportMs * (0.5 + random.next());
    }
    if (clock.elapsed() >= this.#reportAt) {
      await this.#report(api);
      this.#reportAt = clock.elapsed() + reportMs;
    }
    if (clock.elapsed() >= this.#renewAt) {
      await this.#renew(api);
      this.#renewAt = clock.elapsed() + renewMs;
    }
    this.#failures = 0;
    return Math.min(this.#renewAt, this.#reportAt) - clock.elapsed();
  }

  /** How long to wait after `sync` has rejected. */
  retryDelayMs(): number {
    return this.isRegistered ? retryMs : backoffMs(registrationRetry, this.#failures++);
  }

  async #register(api: Client): Promise<void> {
    const { description, clock, registers } = this.#options;
    if (!registers) return this.#takeOver(api);
    try {
      this.#noteNode(await api.create(Node, nodeObject(description, this.#health, clock.now())));
    } catch (error) {
      if (!isReason(error, "AlreadyExists")) throw error;
      await this.#takeOver(api);
    }
  }

  /** The node was registered before: its labels and its status are brought up to date, all else belongs to others. */
  async #takeOver(api: Client): Promise<void> {
    const { description } = this.#options;
    const node = await api.get(Node, { name: this.name });
    const labels = { ...standardLabels(description), ...description.labels };
    const isCurrent = Object.entries(labels).every(([key, value]) => node.metadata.labels?.[key] === value);
    if (!isCurrent) await api.patch(Node, { name: this.name }, "strategic", { metadata: { labels } });
    this.#conditions = node.status.conditions ?? [];
    await this.#report(api);
  }

  async #report(api: Client): Promise<void> {
    const { description, clock } = this.#options;
    const status = nodeStatus(description, this.#health, this.#conditions, clock.now());
    this.#noteNode(await api.patch(Node, { name: this.name }, "strategic", { status }, { subresource: "status" }));
  }

  #noteNode({ metadata, status }: Node): void {
    this.#uid = metadata.uid;
    this.#conditions = status.conditions ?? [];
  }

  async #renew(api: Client): Promise<void> {
    const { clock, leaseSeconds } = this.#options;
    const spec = { holderIdentity: this.name, leaseDurationSeconds: leaseSeconds, renewTime: microTimeOf(clock.now()) };
    const place = { namespace: leaseNamespace, name: this.name };
    const lease = this.#lease ?? (await api.find(Lease, place));
    if (!lease) {
      this.#lease = await api.create(Lease, { ...leaseName, metadata: { ...place, ...this.#owner }, spec });
      return;
    }
    try {
      this.#lease = await api.update(Lease, { ...lease, spec: { ...lease.spec, ...spec } });
    } catch (error) {
      this.#lease = undefined; // it was changed or deleted: the next try begins with what is there
      if (!isConflict(error) && !isNotFound(error)) throw error;
      return this.#renew(api);
    }
  }

  get #owner() {
    const uid = this.#uid;
    return uid === undefined ? {} : { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: this.name, uid }] };
  }
}

const leaseName = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" };
