// Translates responses of a CRI runtime into the kubelet's types.
import type { DecodedMessage } from "#base/host/protobuf.ts";
import type { ContainerPhase, Image } from "../../runtime.ts";
import type { ContainerUsage } from "../stats/machine-stats.ts";
import { CriError, criCode } from "./connection.ts";
import { type ContainerStatus, type Image as CriImage, containerStates, type Stats } from "./messages.ts";

/**
 * containerd gives up a start when its caller goes away, and takes the container for one that has failed. Its words are all there is to
 * tell that from a start that cannot succeed.
 */
const abortedStart =
  /(?:context canceled|context deadline exceeded|failed to start shim: .*signal: killed)(?:: unknown)?$/;

export function phaseOf({ state, startedAt, reason, message }: DecodedMessage<typeof ContainerStatus>): ContainerPhase {
  const phase = containerStates[state] ?? "unknown";
  const isAborted = phase === "exited" && startedAt === 0n && reason === "StartError" && abortedStart.test(message);
  return isAborted ? "aborted" : phase;
}

export const isNotFound = (error: unknown): boolean => error instanceof CriError && error.code === criCode.notFound;

export function usageOf({ cpu, memory, writableLayer }: DecodedMessage<typeof Stats>): ContainerUsage {
  const numberOf = (value: { readonly value: bigint } | undefined) => value && Number(value.value);
  const { usageBytes, rssBytes, pageFaults, majorPageFaults } = memory ?? {};
  const more = { usageBytes, rssBytes, pageFaults, majorPageFaults };
  return {
    cpuNanos: numberOf(cpu?.usageCoreNanoSeconds) ?? 0,
    workingSetBytes: numberOf(memory?.workingSetBytes) ?? 0,
    layerBytes: numberOf(writableLayer?.usedBytes) ?? 0,
    ...Object.fromEntries(Object.entries(more).flatMap(([key, value]) => (value ? [[key, numberOf(value)]] : []))),
  };
}

export const millis = (nanos: bigint): number => Number(nanos / 1_000_000n);

export const imageOf = ({
  id,
  tags,
  digests,
  size,
  pinned,
  uid,
  username,
}: DecodedMessage<typeof CriImage>): Image => ({
  id,
  names: [...digests, ...tags],
  sizeBytes: size,
  ...(pinned && { isPinned: true }),
  user: uid || username === "" ? { id: uid?.value ?? 0 } : { name: username },
});
