import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "#base/clock.ts";
import { CriConnection, CriError, criCode } from "#kubelet/host/cri/connection.ts";
import { rpcs } from "#kubelet/host/cri/messages.ts";
import { pauseImage, pauseReference } from "../images/pause.ts";
import type { NodeContainerd } from "./containerd.ts";

export interface PauseImageOptions {
  /** For the archive, while it is brought. */
  readonly folder: string;
  readonly clock: Clock;
}

const timeoutMs = 20_000;
const pollMs = 5;
const callMs = 5_000;

/** Loads the pause image into a containerd that has none. False if containerd does not answer. */
export async function ensurePauseImage(
  containerd: NodeContainerd,
  { folder, clock }: PauseImageOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const connection = new CriConnection(`unix://${containerd.socket}`, clock);
  try {
    for (const until = clock.elapsed() + timeoutMs; ; await clock.sleep(pollMs, signal))
      try {
        const request = { image: { image: pauseReference } };
        const { image } = await connection.call(rpcs.imageStatus, request, { timeoutMs: callMs, signal });
        if (image) return true;
        break;
      } catch (error) {
        // containerd refuses calls until it has recovered its containers; one that does not answer at all is stuck.
        if (!(error instanceof CriError)) throw error;
        if (error.code === criCode.deadlineExceeded || clock.elapsed() > until) return false;
      }
  } finally {
    connection.close();
  }
  const archive = join(folder, "pause.tar");
  writeFileSync(archive, pauseImage());
  signal.throwIfAborted();
  await containerd.load(archive);
  rmSync(archive);
  return true;
}
