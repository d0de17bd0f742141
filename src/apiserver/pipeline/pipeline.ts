// The way of a request: an ordered list of stages, each a file in stages/. Each either lets the request go on, answers it, or refuses it by throwing ApiError. What
// must happen when a request is over hangs on its life (request-life.ts), so that stages need not wrap each other: a loop costs less than
// ten nested functions, and the list can be read from top to bottom.
import type { Clock } from "#base/clock.ts";
import type { Soon } from "#base/soon.ts";
import type { Authorize } from "#serving/authorization.ts";
import type { AuditAnnotations, User } from "#wire/api-request.ts";
import type { HttpRequest } from "#wire/http.ts";
import type { YamlReader } from "#wire/yaml/reader.ts";
import type { ForeignRequests } from "../aggregation/foreign-requests.ts";
import { auditStage } from "../audit/auditor.ts";
import type { ConnectionOptions } from "../connect/connect.ts";
import type { Fairness } from "../fairness/fairness.ts";
import { type InFlightLimits, usualInFlight } from "../in-flight.ts";
import type { PathHandler } from "../paths/paths.ts";
import type { Resources } from "../resources.ts";
import type { Call, CallAnswer } from "./call.ts";
import { aggregateStage } from "./stages/aggregate.ts";
import { authorizeStage } from "./stages/authorize.ts";
import { identifyStage } from "./stages/identify.ts";
import { impersonateStage } from "./stages/impersonate.ts";
import { limitInFlightStage } from "./stages/limit-in-flight.ts";
import { locateStage } from "./stages/locate.ts";
import { readBodyStage } from "./stages/read-body.ts";
import { routeStage } from "./stages/route.ts";
import { serveConnectionStage, servePathStage } from "./stages/serve-other.ts";
import { serveResourceStage } from "./stages/serve-resource.ts";
import { shareFairlyStage } from "./stages/share-fairly.ts";

export interface Stage {
  readonly name: string;
  /** Whether requests from parts of this process pass it, too. Those that only read bytes or identify are for HTTP. */
  readonly inProcess?: boolean;
  /** Undefined lets the request go on; at once where nothing has to be waited for. */
  pass(call: Call): Soon<CallAnswer | undefined>;
}

export interface PipelineOptions {
  readonly identify: (request: HttpRequest, notes?: AuditAnnotations) => Promise<User> | User;
  readonly authorize: Authorize;
  readonly resources: Resources;
  readonly paths: PathHandler;
  /** Requests that other servers answer. */
  readonly foreign: ForeignRequests;
  /** How to reach what runs in the cluster. */
  readonly connections: ConnectionOptions;
  /** How many requests are served at once; 400 that read and 200 that write by default. */
  readonly inFlight?: InFlightLimits;
  /** Lets requests go on in turn; without it they are only counted. */
  readonly fairness?: Fairness;
  /** How long a watch lasts whose client does not say, in seconds; without it, for as long as the client wants. */
  readonly watchSeconds?: () => number;
  /** Reads large YAML; without it, that is refused. */
  readonly readYaml?: YamlReader;
  readonly clock: Clock;
}

export const stagesOf = ({ identify, authorize, resources, paths, ...others }: PipelineOptions): readonly Stage[] => [
  identifyStage(identify),
  locateStage,
  auditStage,
  impersonateStage(authorize),
  limitStage(others),
  authorizeStage(authorize),
  aggregateStage(others.foreign),
  routeStage(resources),
  servePathStage(paths, resources),
  serveConnectionStage({ resources, connections: others.connections, authorize }),
  readBodyStage({ ...others, resources }),
  serveResourceStage(resources, others.clock),
];

const limitStage = ({ fairness, inFlight = usualInFlight }: Pick<PipelineOptions, "fairness" | "inFlight">): Stage =>
  fairness ? shareFairlyStage(fairness, inFlight.lasting) : limitInFlightStage(inFlight);

/** Passes the stages from `first` on. At once where no stage has to wait: a get takes 2 µs here, and a promise would be a tenth of that. */
export function passAll(stages: readonly Stage[], call: Call, first = 0): Soon<CallAnswer> {
  for (let i = first; i < stages.length; i++) {
    const stage = stages[i] as Stage;
    call.stage = stage.name;
    const step = stage.pass(call);
    if (step instanceof Promise) return step.then((answer) => answer ?? passAll(stages, call, i + 1));
    if (step) return step;
  }
  throw new Error("no stage has answered the request");
}
