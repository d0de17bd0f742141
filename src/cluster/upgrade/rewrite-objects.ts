// Writes objects anew that are stored in a version, or with a key, of before. Upstream's storage version migrator does the same: a patch that
// changes nothing is written by the server if what is stored is not as it would be written now.
import { inBatches } from "#base/collections.ts";
import { isNotFound, isReason } from "#base/errors.ts";
import type { Connection } from "#client/host/connect.ts";

export interface RewriteResult {
  readonly objects: number;
  readonly written: number;
}

const atOnce = 16;
/** They end by themselves, or are renewed all the time. */
const shortLived = new Set(["events", "leases"]);

export async function rewriteObjects({ client, discovery }: Connection): Promise<RewriteResult> {
  let [objects, written] = [0, 0];
  const { kinds } = await discovery.discover(client.signal);
  const seen = new Set<string>();
  for (const kind of kinds) {
    const resource = `${kind.plural}.${kind.group}`;
    if (seen.has(resource) || shortLived.has(kind.plural)) continue; // one version of each will do
    seen.add(resource);
    const list = await client.list(kind).catch((error: unknown) => {
      if (isNotFound(error) || isReason(error, "MethodNotAllowed")) return undefined; // reviews can only be made
      throw error;
    });
    await inBatches(atOnce, list?.items ?? [], async ({ metadata }) => {
      try {
        const { namespace, name = "" } = metadata;
        const now = await client.patch(kind, { namespace, name }, "merge", {});
        objects++;
        if (now.metadata.resourceVersion !== metadata.resourceVersion) written++;
      } catch (error) {
        if (!isNotFound(error) && !isReason(error, "MethodNotAllowed")) throw error; // gone meanwhile, or not stored
      }
    });
  }
  return { objects, written };
}
