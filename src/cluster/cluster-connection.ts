// How the commands that look into a running cluster find it: by kubeconfig, as kubectl does.
import { findKind } from "#api/find-kind.ts";
import { systemClock } from "#base/clock.ts";
import { explain, UsageError } from "#base/errors.ts";
import { type Connection, connectClient } from "#client/host/connect.ts";
import type { AnyKind } from "#schema/kind.ts";
import { ClusterFolder, placeFlags } from "./local/cluster-folder.ts";
import { knarrVersion } from "./version.ts";

export const connectionFlags = {
  name: { type: "string", value: "CLUSTER", help: "Cluster of this machine; defaults to the one of the kubeconfig" },
  "data-dir": placeFlags["data-dir"],
  kubeconfig: { type: "string", value: "FILE", help: "Kubeconfig to use; defaults to $KUBECONFIG or ~/.kube/config" },
  context: { type: "string", value: "NAME", help: "Context of it; defaults to the current one" },
  namespace: { type: "string", short: "n", value: "NAME", help: "Namespace of the object; defaults to the context's" },
} as const;

interface ConnectionSettings {
  readonly name: string | undefined;
  readonly "data-dir": string | undefined;
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
}

/** Works with a connection, and closes it whatever happens. */
export async function withCluster<T>(
  settings: ConnectionSettings,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const { context } = settings;
  const kubeconfig = kubeconfigOf(settings);
  const stop = new AbortController();
  const connection = await connectClient({
    env: process.env,
    ...(kubeconfig !== undefined && { explicit: kubeconfig }),
    ...(context !== undefined && { context }),
    userAgent: `knarr/${knarrVersion}`,
    clock: systemClock,
    signal: stop.signal,
  });
  try {
    return await work(connection);
  } catch (error) {
    const place = refusedAt(error);
    if (place === undefined) throw error;
    throw new Error(
      `nobody answers at ${place}; "knarr status" says whether the cluster runs, "knarr start" starts it`,
    );
  } finally {
    stop.abort(new Error("done"));
    connection.close();
  }
}

/** A cluster of this machine has a kubeconfig of its own. */
function kubeconfigOf({ name, kubeconfig, context, ...settings }: ConnectionSettings): string | undefined {
  if (name === undefined) return kubeconfig;
  if (kubeconfig !== undefined || context !== undefined)
    throw new UsageError("--name says which cluster; --kubeconfig and --context would say so, too");
  const place = new ClusterFolder({ name, "data-dir": settings["data-dir"] });
  place.mustExist();
  return place.adminKubeconfig;
}

/** Where nobody listens, if that is why. */
const refusedAt = (error: unknown): string | undefined => /connect ECONNREFUSED (\S+?),?$/.exec(explain(error))?.[1];

/** What `deploy/web` or `deploy web` names, among all kinds that this cluster serves. Those that are not built in are known by their metadata alone. */
export async function servedSubjectOf(args: readonly string[], { discovery, client }: Connection): Promise<Subject> {
  const { word, name } = wordsIn(args);
  const kind = findKind(word) ?? findKind(word, (await discovery.discover(client.signal)).kinds);
  return { kind: kind ?? noSuchKind(word), name };
}

interface Subject {
  readonly kind: AnyKind;
  readonly name: string;
}

function wordsIn(args: readonly string[]): { readonly word: string; readonly name: string } {
  const [word = "", name = "", ...rest] = args.length === 1 ? (args[0] ?? "").split("/") : args;
  if (!word || !name || rest.length > 0)
    throw new UsageError(`say which object, as in "pod/web-1" or "deployment/web"`);
  return { word, name };
}

function noSuchKind(word: string): never {
  throw new UsageError(`there is no kind ${JSON.stringify(word)}; see "kubectl api-resources"`);
}
