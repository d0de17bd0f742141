// What is going on, for people: a row for each level, for each queue, or for each request. Columns are upstream's, its misspelling included.
// Upstream: staging/src/k8s.io/apiserver/pkg/util/flowcontrol/apf_controller_debug.go.
import { formatDuration } from "#base/duration.ts";
import type { PriorityLevel } from "./priority-level.ts";
import type { FairRequest } from "./request-list.ts";

type Levels = ReadonlyMap<string, PriorityLevel>;

const levelColumns =
  "PriorityLevelName ActiveQueues IsIdle IsQuiescing WaitingRequests ExecutingRequests DispatchedRequests RejectedRequests TimedoutRequests CancelledRequests";
const queueColumns =
  "PriorityLevelName Index PendingRequests ExecutingRequests SeatsInUse NextDispatchR InitialSeatsSum MaxSeatsSum TotalWorkSum";
const requestColumns =
  "PriorityLevelName FlowSchemaName QueueIndex RequestIndexInQueue FlowDistingsher ArriveTime InitialSeats FinalSeats AdditionalLatency StartTime";
const detailColumns = "UserName Verb APIPath Namespace Name APIVersion Resource SubResource";

export const levelTable = (levels: Levels): string =>
  table([
    levelColumns.split(" "),
    ...byName(levels).map(({ name, queues, isQuiescing }) => {
      const { waiting, executing, dispatched, rejected, cancelled } = queues.totals;
      const active = queues.queues.filter((queue) => queue.waiting.length > 0).length;
      return [name, active, queues.isIdle, isQuiescing, waiting, executing, dispatched, rejected, 0, cancelled];
    }),
  ]);

export const queueTable = (levels: Levels): string =>
  table([
    queueColumns.split(" "),
    ...byName(levels).flatMap(({ name, queues }) =>
      queues.queues.map((queue) => [
        name,
        queue.index,
        queue.waiting.length,
        queue.executing.length,
        queue.seatsInUse,
        seatSeconds(queue.nextDispatchR),
        [...queue.waiting].reduce((sum, { initialSeats }) => sum + initialSeats, 0),
        queue.waitingSeats,
        seatSeconds(queue.waitingWork),
      ]),
    ),
  ]);

/** `timeOf` tells the time of day of a moment that requests came or began at. */
export const requestTable = (levels: Levels, hasDetails: boolean, timeOf: (elapsed: number) => number): string =>
  table([
    [...requestColumns.split(" "), ...(hasDetails ? detailColumns.split(" ") : [])],
    ...byName(levels).flatMap(({ name, queues }) => {
      const row = (request: FairRequest, queue: number, place: number) => [
        name,
        request.arrival.schema,
        queue,
        place,
        request.arrival.distinguisher,
        timestamp(timeOf(request.arrivedAt)),
        request.initialSeats,
        request.finalSeats,
        formatDuration(BigInt(Math.round(request.additionalMs * 1e6))),
        request.state === "waiting" ? neverStarted : timestamp(timeOf(request.startedAt)),
        ...(hasDetails ? detailsOf(request) : []),
      ];
      return [
        ...queues.queues.flatMap(({ index, waiting, executing }) => [
          ...[...waiting].map((request, i) => row(request, index, i)),
          ...[...executing].map((request) => row(request, index, -1)),
        ]),
        ...[...queues.unqueued].map((request) => row(request, -1, -1)),
      ];
    }),
  ]);

/** Go's time zero. */
const neverStarted = "0001-01-01T00:00:00Z";

function detailsOf({ arrival: { user, verb, path, address } }: FairRequest): readonly string[] {
  const { group = "", version = "", namespace = "", name = "", resource = "", subresource = "" } = address;
  const apiVersion = group === "" ? version : `${group}/${version}`;
  return [user.name, verb, path, namespace, name, apiVersion, resource, subresource];
}

const byName = (levels: Levels): readonly PriorityLevel[] =>
  [...levels.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));

/** With eight places, as a fixed-point number has them. */
const seatSeconds = (value: number): string => `${Math.max(0, value).toFixed(8)}ss`;

const timestamp = (ms: number): string => {
  const text = new Date(ms).toISOString();
  return text.replace(/\.?0*Z$/, "Z");
};

/** Cells end in a comma, and stand below each other. The last column is not padded. */
function table(rows: readonly (readonly (string | number | boolean)[])[]): string {
  const cells = rows.map((row) => row.map((cell, i) => (i < row.length - 1 ? `${cell},` : String(cell))));
  const widths = (cells[0] ?? []).map((_, i) => Math.max(8, ...cells.map((row) => (row[i]?.length ?? 0) + 1)));
  const line = (row: readonly string[]) =>
    row.map((cell, i) => (i < row.length - 1 ? cell.padEnd(widths[i] ?? 0) : cell)).join("");
  return cells.map((row) => `${line(row)}\n`).join("");
}
