// The store as the registry of one resource uses it, counted under the names that upstream gives to requests to etcd.
import type { Clock } from "#base/clock.ts";
import type { MetricRegistry } from "#base/metrics.ts";
import type { AnyKind } from "#schema/kind.ts";
import { Conflict, type StoreEngine } from "#store/engine.ts";

type Operation = "get" | "list" | "create" | "update" | "delete";

const buckets = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60];

/** Declares the names, and answers what counts the requests for a resource. */
export function storeMeter(registry: MetricRegistry, clock: Clock): (store: StoreEngine, kind: AnyKind) => StoreEngine {
  const common = { labels: ["operation", "group", "resource"], stability: "ALPHA" } as const;
  const duration = registry.histogram({
    name: "etcd_request_duration_seconds",
    help: "How long the store took.",
    buckets,
    ...common,
  });
  const total = registry.counter({ name: "etcd_requests_total", help: "Requests to the store.", ...common });
  const errors = registry.counter({
    name: "etcd_request_errors_total",
    help: "Requests that the store could not answer.",
    ...common,
  });
  return (store, { group, plural }) => {
    const seriesOf = (operation: Operation) => ({
      duration: duration.of(operation, group, plural),
      total: total.of(operation, group, plural),
    });
    const known = new Map<Operation, ReturnType<typeof seriesOf>>();
    const measured = <T>(operation: Operation, start: number, answer: Promise<T>): Promise<T> => {
      const series = known.get(operation) ?? seriesOf(operation);
      known.set(operation, series);
      const note = (error?: unknown) => {
        series.total.add();
        series.duration.observe((clock.elapsed() - start) / 1000);
        // A conflict is an answer of the store, not a failure of the call.
        if (error !== undefined && !(error instanceof Conflict)) errors.of(operation, group, plural).add();
      };
      answer.then(() => note(), note);
      return answer;
    };
    return measuredStore(store, clock, measured);
  };
}

function measuredStore(
  store: StoreEngine,
  clock: Clock,
  measured: <T>(operation: Operation, start: number, answer: Promise<T>) => Promise<T>,
): StoreEngine {
  const now = () => clock.elapsed();
  const written = (expected: number): Operation => (expected === 0 ? "create" : "update");
  const begin = store.begin?.bind(store);
  const newest = store.newest?.bind(store);
  const isStale = store.isStale?.bind(store);
  return {
    get: (...call) => measured("get", now(), store.get(...call)),
    list: (...call) => measured("list", now(), store.list(...call)),
    put: (...call) => measured(written(call[2]), now(), store.put(...call)),
    delete: (...call) => measured("delete", now(), store.delete(...call)),
    ...(begin && {
      begin: (...call) => {
        const start = now();
        const begun = begin(...call);
        return begun && { entry: begun.entry, durable: measured(written(call[2]), start, begun.durable) };
      },
    }),
    ...(newest && { newest }),
    ...(isStale && { isStale }),
    watch: (...call) => store.watch(...call),
    revision: (...call) => store.revision(...call),
    compact: (...call) => store.compact(...call),
    status: (...call) => store.status(...call),
    close: () => store.close(),
  };
}
