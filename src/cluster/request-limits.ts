// Flags of the API server about how much it serves at once, and for how long.
import { type InFlightLimits, usualInFlight } from "#apiserver/in-flight.ts";
import { UsageError } from "#base/errors.ts";
import { durationFlag } from "#cli/duration-flag.ts";
import type { FlagValues } from "#cli/flags.ts";

export const requestLimitFlags = {
  "enable-priority-and-fairness": {
    type: "bool",
    default: true,
    help: "Whether requests wait for each other by FlowSchemas and PriorityLevelConfigurations; else they are only counted",
  },
  "max-requests-inflight": {
    type: "int",
    default: usualInFlight.reads,
    help: "With priority and fairness, seats that are shared; without, requests that only read and are served at once, 0 being no limit",
  },
  "max-mutating-requests-inflight": {
    type: "int",
    default: usualInFlight.writes,
    help: "With priority and fairness, seats that are shared as well; without, requests that write and are served at once, 0 being no limit",
  },
  "request-timeout": {
    type: "string",
    value: "DURATION",
    default: "1m0s",
    help: "How long a request may take that is no watch and no connection",
  },
  "min-request-timeout": {
    type: "int",
    default: 1800,
    help: "Seconds that a watch lasts at least whose client does not say how long; up to twice as long",
  },
} as const;

export interface RequestLimits {
  readonly inFlight: InFlightLimits;
  readonly isFair: boolean;
  readonly requestTimeoutMs: number;
  readonly minWatchSeconds: number;
}

/** Throws UsageError for what upstream would refuse as well. */
export function requestLimitsBy(settings: FlagValues<typeof requestLimitFlags>): RequestLimits {
  for (const name of ["max-requests-inflight", "max-mutating-requests-inflight", "min-request-timeout"] as const)
    if (settings[name] < 0) throw new UsageError(`--${name} can not be negative value`);
  const inFlight = {
    ...usualInFlight,
    reads: settings["max-requests-inflight"],
    writes: settings["max-mutating-requests-inflight"],
  };
  const isFair = settings["enable-priority-and-fairness"];
  if (isFair && inFlight.reads + inFlight.writes === 0)
    throw new UsageError(
      "--max-requests-inflight and --max-mutating-requests-inflight are what priority and fairness shares: they must add up to something",
    );
  return {
    inFlight,
    isFair,
    requestTimeoutMs: durationFlag("request-timeout", settings["request-timeout"]),
    minWatchSeconds: settings["min-request-timeout"],
  };
}
