// A storage driver of this node, spoken to over its socket.
// Upstream: pkg/volume/csi/csi_client.go.
import type { Clock } from "#base/clock.ts";
import { CriConnection, CriError } from "../cri/connection.ts";
import type { CriRpc } from "../cri/messages.ts";
import { type NodeCapability, type NodeInfo, nodeCapability, nodeRpcs } from "./messages.ts";

/** As long as upstream waits for an answer. */
const callMs = 120_000;

export class CsiDriverConnection {
  readonly name: string;
  readonly endpoint: string;
  /** The highest version of the interface that it speaks. */
  readonly version: string;
  readonly #connection: CriConnection;
  #capabilities: Promise<ReadonlySet<number>> | undefined;

  constructor(
    { name, endpoint, version }: { readonly name: string; readonly endpoint: string; readonly version: string },
    clock: Clock,
  ) {
    this.name = name;
    this.endpoint = endpoint;
    this.version = version;
    this.#connection = new CriConnection(`unix://${endpoint.replace(/^unix:\/\//, "")}`, clock, undefined, {});
  }

  call<D, T>(rpc: CriRpc<D, T>, draft: D, signal: AbortSignal): Promise<T> {
    return this.#connection.call(rpc, draft, { timeoutMs: callMs, signal });
  }

  info(signal: AbortSignal): Promise<NodeInfo> {
    return this.call(nodeRpcs.getInfo, {}, signal);
  }

  /** Whether the driver can do something. It is asked once. */
  async can(what: NodeCapability, signal: AbortSignal): Promise<boolean> {
    this.#capabilities ??= this.#askCapabilities(signal);
    try {
      return (await this.#capabilities).has(nodeCapability[what]);
    } catch (error) {
      this.#capabilities = undefined;
      throw error;
    }
  }

  async #askCapabilities(signal: AbortSignal): Promise<ReadonlySet<number>> {
    const { capabilities } = await this.call(nodeRpcs.getCapabilities, {}, signal);
    return new Set(capabilities.map(({ rpc }) => rpc?.type ?? 0));
  }

  close(): void {
    this.#connection.close();
  }
}

/** gRPC codes after which nobody knows whether the driver is still at it. */
const uncertainCodes: readonly number[] = [1, 4, 8, 10, 14];

/** Whether the driver has answered that it failed, and does nothing any more. */
export const isFinal = (error: unknown): boolean => error instanceof CriError && !uncertainCodes.includes(error.code);
