// Upstream: kubectl/pkg/cmd/scale/scale.go and kubectl/pkg/scale/scale.go.
import { command } from "../command.ts";
import { KubectlError, usageError } from "../errors.ts";
import { goJson } from "../go/json.ts";
import { metadataOf, type ResourceInfo, resourcePath } from "../resources/resource-info.ts";
import { ResourceQuery } from "../resources/resource-query.ts";
import type { Session } from "../session.ts";
import { filenameFlags, printObject, recordFlag, writeSettings, writtenFlags } from "../write-options.ts";

export const scale = command({
  use: "scale [--resource-version=version] [--current-replicas=count] --replicas=COUNT (-f FILENAME | TYPE NAME)",
  long: "Set how many pods a deployment, replica set, replication controller or stateful set should run.",
  flags: {
    ...writtenFlags,
    ...filenameFlags,
    ...recordFlag,
    all: { type: "bool", help: "All objects of the types, in the namespace." },
    "current-replicas": { type: "int", default: -1, help: "Only if it runs this many now." },
    replicas: { type: "int", help: "Pods that should run." },
    "resource-version": { type: "string", help: "Only if the object is at this version." },
    selector: { type: "string", short: "l", help: "Only objects with these labels." },
    timeout: { type: "duration", help: "How long to wait until it has as many; 0 does not wait." },
  },
  run: async (session, args, flags, { changed, commandPath }) => {
    if (!changed.has("replicas")) throw new KubectlError('required flag(s) "replicas" not set');
    if (flags.replicas < 0)
      throw new KubectlError("The --replicas=COUNT flag is required, and COUNT must be greater than or equal to 0");
    if (flags["current-replicas"] < -1)
      throw usageError("The --current-replicas must specify an integer of -1 or greater", commandPath);
    const settings = writeSettings(session, flags, "scaled");
    const query = await ResourceQuery.of(session, {
      filenames: flags.filename,
      isRecursive: flags.recursive,
      kustomize: flags.kustomize,
      args,
      labelSelector: flags.selector,
      selectAll: flags.all,
      chunkSize: 0,
      continueOnError: true,
      flatten: true,
    });
    const infos = await query.infos();
    if (infos.length === 0) throw new KubectlError("no objects passed to scale");
    if (flags["resource-version"] !== "" && infos.length > 1)
      throw new KubectlError("cannot use --resource-version with multiple resources");
    for (const info of infos) {
      if (settings.dryRun !== "client")
        await scaleOne(session, info, {
          replicas: flags.replicas,
          currentReplicas: flags["current-replicas"],
          resourceVersion: flags["resource-version"],
          isDryRun: settings.dryRun === "server",
          timeout: flags.timeout,
        });
      printObject(session, settings.printer, info.object ?? {});
    }
  },
});

interface ScaleRequest {
  readonly replicas: number;
  readonly currentReplicas: number;
  readonly resourceVersion: string;
  readonly isDryRun: boolean;
  readonly timeout: bigint;
}

/** How often it is looked how many there are. */
const lookMs = 1000;

async function scaleOne(session: Session, info: ResourceInfo, request: ScaleRequest): Promise<void> {
  if (!info.mapping) throw new Error(`${info.name} has no place on a server`);
  const client = await session.client();
  const path = resourcePath(info.mapping, info.namespace, info.name, "scale");
  const { replicas, currentReplicas, resourceVersion, isDryRun } = request;
  const query = isDryRun ? ([["dryRun", "All"]] as const) : [];
  if (currentReplicas === -1 && resourceVersion === "")
    await client.json({
      method: "PATCH",
      path,
      query,
      body: goJson({ spec: { replicas } }),
      contentType: "application/merge-patch+json",
    });
  else {
    const scale = await client.json({ path });
    const now = (scale.spec as { replicas?: number } | undefined)?.replicas ?? 0;
    if (currentReplicas !== -1 && currentReplicas !== now)
      throw new KubectlError(`Expected replicas to be ${currentReplicas}, was ${now}`);
    if (resourceVersion !== "" && resourceVersion !== metadataOf(scale).resourceVersion)
      throw new KubectlError(
        `Expected resource version to be ${resourceVersion}, was ${metadataOf(scale).resourceVersion}`,
      );
    const changed = { ...scale, spec: { ...(scale.spec as object), replicas } };
    await client.json({ method: "PUT", path, query, body: goJson(changed), contentType: "application/json" });
  }
  if (request.timeout > 0n && !isDryRun) await untilScaled(session, path, request);
}

async function untilScaled(session: Session, path: string, { replicas, timeout }: ScaleRequest): Promise<void> {
  const { clock, signal } = session.io;
  const client = await session.client();
  const began = clock.elapsed();
  for (;;) {
    const { spec, status } = (await client.json({ path })) as {
      spec?: { replicas?: number };
      status?: { replicas?: number };
    };
    if ((spec?.replicas ?? 0) === replicas && (status?.replicas ?? 0) === replicas) return;
    if (clock.elapsed() - began > Number(timeout) / 1e6) throw new KubectlError("timed out waiting for the condition");
    await clock.sleep(lookMs, signal);
  }
}
