// Upstream: kubectl/pkg/cmd/describe and kubectl/pkg/describe.
import { isNotFound } from "#base/errors.ts";
import { command } from "../command.ts";
import type { DescribeContext } from "../describe/describer.ts";
import { describerFor } from "../describe/describers.ts";
import { DescriptionWriter } from "../describe/description-writer.ts";
import { resourceName } from "../discovery/rest-mapper.ts";
import { AggregateKubectlError, KubectlError, throwAll } from "../errors.ts";
import type { FlagDeclarations } from "../flags.ts";
import { type ResourceInfo, resourcePath } from "../resources/resource-info.ts";
import { ResourceQuery, type ResourceQueryOptions } from "../resources/resource-query.ts";
import type { KubeObject } from "../rest/client.ts";
import type { Session } from "../session.ts";
import { manifestFlags } from "../shared-flags.ts";

const flags = {
  ...manifestFlags("Describe the objects of these manifests."),
  "all-namespaces": { type: "bool", short: "A", help: "Objects of all namespaces." },
  "chunk-size": { type: "int", default: 500, help: "Objects per request of a large list; 0 asks for all at once." },
  selector: { type: "string", short: "l", help: "Only objects with these labels." },
  "show-events": {
    type: "bool",
    default: true,
    help: "Show events of the objects. Unless given, only those of a single object are shown.",
  },
} as const satisfies FlagDeclarations;

export const describe = command({
  use: "describe (-f FILENAME | TYPE [NAME_PREFIX | -l label] | TYPE/NAME)",
  long: "Show details of objects, with what belongs to them, such as events.\n\nIf no object has the name that is given, all whose names begin with it are described.",
  examples: `# Describe a node
kubectl describe nodes worker-1

# Describe a pod
kubectl describe pods/web

# Describe the objects of a file
kubectl describe -f pod.json

# Describe all pods with a label
kubectl describe pods -l app=web

# Describe all pods whose names begin with web
kubectl describe pods web`,
  flags,
  async run(session, args, flags, { changed }) {
    if (args.length === 0 && flags.filename.length === 0 && flags.kustomize === "")
      throw new KubectlError(
        'You must specify the type of resource to describe. Use "kubectl api-resources" for a complete list of supported resources.\n',
      );
    const options: ResourceQueryOptions = {
      args,
      filenames: flags.filename,
      isRecursive: flags.recursive,
      kustomize: flags.kustomize,
      labelSelector: flags.selector,
      chunkSize: flags["chunk-size"],
      allNamespaces: flags["all-namespaces"],
      allowEmptySelector: true,
      continueOnError: true,
      flatten: true,
    };
    const query = await ResourceQuery.of(session, options);
    const infos: ResourceInfo[] = [];
    const errors: Error[] = [];
    try {
      await query.visit(async (info) => void infos.push(info));
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      errors.push(error);
    }
    const isOne = errors.length === 0 && infos.length <= 1;
    const context: DescribeContext = {
      client: await session.client(),
      now: session.io.clock.now(),
      chunkSize: flags["chunk-size"],
      showsEvents: flags["show-events"] && (isOne || changed.has("show-events")),
    };
    const [error] = errors;
    if (error && isNotFound(error) && args.length === 2) return describeMatching(session, context, options, error);
    await describeEach(session, context, infos, errors);
    if (infos.length === 0 && errors.length === 0)
      session.printError(
        flags["all-namespaces"]
          ? "No resources found"
          : `No resources found in ${await session.namespace()} namespace.`,
      );
    throwAll(errors);
  },
});

/** Descriptions with empty lines between them. What went wrong is added to the errors, each only once. */
async function describeEach(
  session: Session,
  context: DescribeContext,
  infos: readonly ResourceInfo[],
  errors: Error[],
): Promise<void> {
  const told = new Set<string>();
  let isFirst = true;
  for (const info of infos)
    try {
      const text = await describeOne(context, info);
      session.io.stdout.write(isFirst ? text : `\n\n${text}`);
      isFirst = false;
    } catch (error) {
      if (!(error instanceof Error) || session.io.signal.aborted) throw error;
      if (!told.has(error.message)) errors.push(error);
      told.add(error.message);
    }
}

/** All objects whose names begin so. Throws the error that came of the whole name if there are none. */
async function describeMatching(
  session: Session,
  context: DescribeContext,
  options: ResourceQueryOptions,
  error: Error,
): Promise<void> {
  const [type = "", prefix = ""] = options.args ?? [];
  const { chunkSize = 0 } = options;
  const query = await ResourceQuery.of(session, {
    args: [type],
    chunkSize,
    allowEmptySelector: true,
    singleResourceType: true,
    flatten: true,
  });
  const matching = (await query.infos()).filter(({ name }) => name.startsWith(prefix));
  if (matching.length === 0) throw error instanceof AggregateKubectlError ? (error.errors[0] ?? error) : error;
  for (const info of matching) session.print(await describeOne(context, info));
}

/** The object is read anew: what a list or a file says of it may be old. */
async function describeOne(context: DescribeContext, { mapping, namespace, name }: ResourceInfo): Promise<string> {
  if (!mapping) throw new Error(`${name} has no place on a server`);
  const describer = await describerFor(mapping);
  const object: KubeObject = await context.client.json({ path: resourcePath(mapping, namespace, name) });
  const w = new DescriptionWriter();
  try {
    await describer(object, context, w);
  } catch (cause) {
    // Describers take what servers send for what it should be.
    if (!(cause instanceof TypeError)) throw cause;
    throw new KubectlError(
      `unable to describe ${resourceName(mapping)} ${JSON.stringify(name)}: the server sent something that is no ${mapping.kind}`,
      { cause },
    );
  }
  return w.finish();
}
