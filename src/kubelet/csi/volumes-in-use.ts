// Which volumes this node says that it has mounted, or is about to mount: nobody detaches these while the node is healthy. A volume is told of
// before it is mounted, and until it is unmounted.
// Upstream: pkg/kubelet/volumemanager/volume_manager.go.
import { Node } from "#api/core/v1/node.ts";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { retry } from "#base/retry.ts";
import type { Client } from "#client/client.ts";
import { Turns } from "../turns.ts";

const delays = { firstMs: 200, maxMs: 10_000 };

export interface VolumesInUseOptions {
  readonly node: string;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
}

export class VolumesInUse {
  readonly #options: VolumesInUseOptions;
  readonly #names = new Set<string>();
  readonly #turns = new Turns();
  /** What the API was last told; undefined before the first time. */
  #told: string | undefined;

  constructor(options: VolumesInUseOptions) {
    this.#options = options;
  }

  /** Resolves when the API knows. */
  async add(...names: readonly string[]): Promise<void> {
    for (const name of names) this.#names.add(name);
    await this.#tell();
  }

  /** The API is told soon. */
  delete(name: string): void {
    if (!this.#names.delete(name)) return;
    const { client, log } = this.#options;
    this.#tell().catch((error: unknown) => {
      if (!client.signal.aborted) log.error("volumes in use were not told", { error: explain(error) });
    });
  }

  #tell(): Promise<void> {
    const { client, clock, node } = this.#options;
    return this.#turns.take("", () =>
      retry(
        async () => {
          const volumesInUse = [...this.#names].toSorted();
          const text = volumesInUse.join("\n");
          if (text === this.#told) return;
          await client.patch(Node, { name: node }, "merge", { status: { volumesInUse } }, { subresource: "status" });
          this.#told = text;
        },
        { ...delays, clock },
        client.signal,
      ),
    );
  }
}
