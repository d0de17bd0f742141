import type { Clock } from "#base/clock.ts";
import { type HttpRequest, type HttpResponse, uncached } from "#wire/http.ts";
import type { FlowControl } from "../fairness/flow-control.ts";
import { levelTable, queueTable, requestTable } from "../fairness/tables.ts";

const folder = "/debug/api_priority_and_fairness";

/** What priority and fairness does right now, as text. */
export function fairnessPaths(
  control: FlowControl,
  clock: Clock,
): Readonly<Record<string, (request: HttpRequest) => HttpResponse>> {
  const timeOf = (elapsed: number): number => clock.now() - (clock.elapsed() - elapsed);
  return {
    [`${folder}/dump_priority_levels`]: () => text(levelTable(control.levels)),
    [`${folder}/dump_queues`]: () => text(queueTable(control.levels)),
    [`${folder}/dump_requests`]: ({ query }) =>
      text(requestTable(control.levels, Boolean(query.get("includeRequestDetails")), timeOf)),
  };
}

const text = (body: string): HttpResponse => ({
  code: 200,
  headers: { "content-type": "text/plain; charset=utf-8", ...uncached },
  body,
});
