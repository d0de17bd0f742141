// Reports why a pod has no node, as its condition PodScheduled and as an event: once, and not at each attempt.

import type { PodCondition } from "#api/core/v1/pod.ts";
import { Pod } from "#api/core/v1/pod.ts";
import type { Clock } from "#base/clock.ts";
import { isNotFound } from "#base/errors.ts";
import { timeOf } from "#schema/time.ts";
import type { BindingContext } from "./framework.ts";
import type { PodView } from "./pod-view.ts";

type Write = (context: BindingContext) => Promise<void>;

/** Events are kept for an hour, so an event that still holds is repeated before that. */
const repeatMs = 30 * 60_000;
/** Longer messages of events are refused. */
const longestEvent = 1024;

export class FailureReports {
  readonly #clock: Clock;
  /** By uid: what was last reported as an event, and when. */
  readonly #reported = new Map<string, { readonly message: string; readonly at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The write that reports a refusal, if one is needed. An undefined nomination stays as it is. */
  refused(pod: PodView, message: string, nominate: string | undefined): Write | undefined {
    return this.#report(pod, "Unschedulable", message, nominate);
  }

  failed(pod: PodView, message: string): Write | undefined {
    return this.#report(pod, "SchedulerError", message, "");
  }

  /** The pod has a node, or is gone. */
  forget(uid: string): void {
    this.#reported.delete(uid);
  }

  #report(pod: PodView, reason: string, message: string, nominate: string | undefined): Write | undefined {
    const isNews = this.#isNews(pod.uid, message);
    const status = statusPatch(pod, { reason, message, nominate }, this.#clock.now());
    if (!isNews && !status) return undefined;
    return async ({ client, event }) => {
      if (isNews) event("Warning", "FailedScheduling", truncated(message));
      if (!status) return;
      const { namespace, name, uid } = pod;
      try {
        await client.patch(
          Pod,
          { namespace, name },
          "strategic",
          { metadata: { uid }, status },
          { subresource: "status" },
        );
      } catch (error) {
        if (!isNotFound(error)) throw error; // it was deleted meanwhile
      }
    };
  }

  #isNews(uid: string, message: string): boolean {
    const now = this.#clock.elapsed();
    const last = this.#reported.get(uid);
    if (last?.message === message && now - last.at < repeatMs) return false;
    this.#reported.set(uid, { message, at: now });
    return true;
  }
}

interface Failure {
  readonly reason: string;
  readonly message: string;
  readonly nominate: string | undefined;
}

function statusPatch({ pod }: PodView, { reason, message, nominate }: Failure, now: number) {
  const { conditions = [], nominatedNodeName = "" } = pod.status;
  const old = conditions.find(({ type }) => type === "PodScheduled");
  const condition: PodCondition = {
    type: "PodScheduled",
    status: "False",
    reason,
    message,
    observedGeneration: pod.metadata.generation,
    lastTransitionTime: old?.status === "False" ? old.lastTransitionTime : timeOf(now),
  };
  const isNew = old?.status !== "False" || old.reason !== reason || old.message !== message;
  const isNominated = nominate !== undefined && nominate !== nominatedNodeName;
  if (!isNew && !isNominated) return undefined;
  return {
    ...(isNew && { conditions: [condition] }),
    ...(isNominated && { nominatedNodeName: nominate === "" ? null : nominate }),
  };
}

const truncated = (message: string): string =>
  message.length <= longestEvent ? message : `${message.slice(0, longestEvent - 4)} ...`;
