// Upstream: kubectl/pkg/cmd/get/get.go.
import { isNotFound } from "#base/errors.ts";
import { command } from "../../command.ts";
import { AggregateKubectlError, KubectlError, throwAll, usageError } from "../../errors.ts";
import type { ParsedFlags } from "../../flags.ts";
import { sortObjects } from "../../printers/sort.ts";
import { metadataOf, type ResourceInfo, stringIn } from "../../resources/resource-info.ts";
import { isList, ResourceQuery, type ResourceQueryOptions } from "../../resources/resource-query.ts";
import type { KubeObject } from "../../rest/client.ts";
import type { Session } from "../../session.ts";
import { TabWriter, tableColumns } from "../../tab-writer.ts";
import { acceptTable, isTable, TablePrinter } from "../../table/table.ts";
import { getFlags } from "./flags.ts";
import { getPrinter, sortedTable } from "./printers.ts";
import { watchObjects } from "./watch.ts";

export type GetFlags = ParsedFlags<typeof getFlags>;

export const get = command({
  use: "get [(-o|--output=)json|yaml|kyaml|name|go-template|go-template-file|template|templatefile|jsonpath|jsonpath-as-json|jsonpath-file|custom-columns|custom-columns-file|wide] (TYPE[.VERSION][.GROUP] [NAME | -l label] | TYPE[.VERSION][.GROUP]/NAME ...) [flags]",
  long: "Display one or many resources.\n\nWithout an output format, a table with the most important things about each resource is printed. Uninitialized or missing fields are shown as <none>.",
  examples: `# List all pods in a table
kubectl get pods

# List all pods with more about each
kubectl get pods -o wide

# Show one deployment as YAML
kubectl get deployment web -o yaml

# List several kinds at once
kubectl get rc,services

# Follow changes of pods with a label
kubectl get pods -l app=web --watch

# A deployment with its replica sets and their pods
kubectl get deployment web --tree`,
  flags: getFlags,
  async run(session, args, flags, { commandPath }) {
    const asTable = isTableOutput(flags);
    warnOfSorting(session, flags);
    if (
      args.length === 0 &&
      flags.filename.length === 0 &&
      flags.kustomize === "" &&
      flags.raw === "" &&
      !flags.watch &&
      !flags["watch-only"]
    )
      throw resourceMissing(session, commandPath);
    validate(flags);
    if (flags.raw !== "") return getRaw(session, flags.raw);
    if (flags.tree) {
      const { checkTree, printTree } = await import("./tree.ts");
      checkTree(flags);
      return printTree(session, queryOptions(args, flags));
    }
    if (flags.watch || flags["watch-only"]) return watchObjects(session, args, flags);
    const query = await ResourceQuery.of(session, queryOptions(args, flags));
    return asTable ? printTables(session, query, flags) : printGeneric(session, query, flags);
  },
});

/** Whether people will read it: anything but a table is for programs. */
export const isTableOutput = ({ output, template }: GetFlags): boolean =>
  (output === "" && template === "") || output === "wide";

/** Custom columns, YAML and JSON need the objects themselves. */
const isServerPrint = (flags: GetFlags): boolean => flags["server-print"] && isTableOutput(flags);

export function queryOptions(args: readonly string[], flags: GetFlags): ResourceQueryOptions {
  const isSorted = flags["sort-by"] !== "";
  const asTable = isServerPrint(flags);
  return {
    args,
    filenames: flags.filename,
    isRecursive: flags.recursive,
    kustomize: flags.kustomize,
    labelSelector: flags.selector,
    fieldSelector: flags["field-selector"],
    subresource: flags.subresource,
    // What is sorted must be whole.
    chunkSize: isSorted ? 0 : flags["chunk-size"],
    allNamespaces: flags["all-namespaces"],
    allowEmptySelector: true,
    continueOnError: true,
    latest: true,
    flatten: true,
    ...(asTable && { accept: acceptTable }),
    ...(asTable && isSorted && { query: [["includeObject", "Object"]] as const }),
  };
}

export const tablePrinter = (
  session: Session,
  flags: GetFlags,
  withNamespace: boolean,
  kindOf: ResourceInfo["mapping"],
): TablePrinter =>
  new TablePrinter(
    {
      isWide: flags.output === "wide",
      isHeadless: flags["no-headers"],
      withNamespace,
      kindOf,
      labelColumns: flags["label-columns"],
      showLabels: flags["show-labels"],
    },
    () => session.io.clock.now(),
  );

async function printTables(session: Session, query: ResourceQuery, flags: GetFlags): Promise<void> {
  const errors: Error[] = [];
  const found = await visited(query, errors, flags["ignore-not-found"]);
  const infos = flags["sort-by"] === "" ? found : sortAll(found, flags["sort-by"]);
  const [first] = infos;
  const hasSeveralKinds = infos.some(
    ({ mapping }) => mapping?.kind !== first?.mapping?.kind || mapping?.group !== first?.mapping?.group,
  );
  let written = 0;
  let last: ResourceInfo["mapping"];
  let isApart = false;
  const write = (text: string) => {
    session.io.stdout.write(isApart ? `\n${text}` : text);
    isApart = false;
    written += text.length;
  };
  let printer: TablePrinter | undefined;
  let writer = new TabWriter(write, tableColumns);
  const areNamespaced = !flags["all-namespaces"] && found.every(({ mapping }) => mapping?.isNamespaced);
  for (const { mapping, object } of infos) {
    if (!printer || !last || mapping !== last) {
      writer.flush();
      writer = new TabWriter(write, tableColumns);
      if (last && !flags["no-headers"] && written > 0) isApart = true;
      const withNamespace = flags["all-namespaces"] && mapping?.isNamespaced !== false;
      printer = tablePrinter(
        session,
        flags,
        withNamespace,
        hasSeveralKinds || flags["show-kind"] ? mapping : undefined,
      );
      last = mapping;
    }
    if (object) printer.print(object, writer);
  }
  writer.flush();
  if (written === 0 && !flags["ignore-not-found"] && errors.length === 0)
    session.printError(
      areNamespaced ? `No resources found in ${await session.namespace()} namespace.` : "No resources found",
    );
  throwAll(errors);
}

/** All objects that could be read; what went wrong with others is added to the errors. */
async function visited(query: ResourceQuery, errors: Error[], ignoresNotFound: boolean): Promise<ResourceInfo[]> {
  const infos: ResourceInfo[] = [];
  try {
    await query.visit(async (info) => {
      infos.push(info);
    });
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const all = error instanceof AggregateKubectlError ? error.errors : [error];
    errors.push(...all.filter((one) => !ignoresNotFound || !isNotFound(one)));
  }
  return infos;
}

/** A table that cannot be sorted is not printed, and nothing is said of it: as upstream does it. */
function sortAll(infos: readonly ResourceInfo[], field: string): readonly ResourceInfo[] {
  const [only] = infos;
  if (infos.length === 1 && only?.object && isTable(only.object))
    try {
      return [{ ...only, object: sortedTable(only.object, field) }];
    } catch (error) {
      if (!(error instanceof KubectlError)) throw error;
      return [];
    }
  const sorted = sortObjects(
    infos.flatMap(({ object }) => (object ? [object] : [])),
    field,
  );
  return sorted.flatMap((object) => infos.filter((info) => info.object === object));
}

/** Several objects are printed as one List; a single one that was named, as itself. */
async function printGeneric(session: Session, query: ResourceQuery, flags: GetFlags): Promise<void> {
  const errors: Error[] = [];
  const infos = await visited(query, errors, flags["ignore-not-found"]);
  const [first] = errors;
  if (first && query.isSingle) throw first;
  if (infos.length === 0 && flags["ignore-not-found"]) return throwAll(errors);
  const printer = getPrinter(session, flags);
  const objects = infos.flatMap(({ object }) => (object ? [object] : []));
  const [single] = objects;
  const field = flags["sort-by"];
  const isSingle = query.isSingle && objects.length === 1 && single !== undefined;
  const items = isSingle ? (isList(single) ? (single.items as KubeObject[]) : undefined) : objects;
  const shown = items
    ? {
        apiVersion: "v1",
        items: field === "" ? items : sortObjects(items, field),
        kind: "List",
        metadata: { resourceVersion: isSingle ? stringIn(metadataOf(single).resourceVersion) : "" },
      }
    : (single as KubeObject);
  try {
    printer.print(shown, (data) => session.io.stdout.write(data));
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    errors.push(error);
  }
  throwAll(errors);
}

async function getRaw(session: Session, path: string): Promise<void> {
  if (!path.startsWith("/"))
    throw new KubectlError(`--raw must be a valid URL path: parse ${JSON.stringify(path)}: invalid URI for request`);
  const { body } = await (await session.client()).open({ path, isEndless: true });
  for await (const part of body) session.io.stdout.write(part);
}

function validate(flags: GetFlags): void {
  const { output, raw, watch, "watch-only": watchOnly } = flags;
  if (raw !== "" && (watch || watchOnly || flags.selector !== ""))
    throw new KubectlError(
      "--raw may not be specified with other flags that filter the server request or alter the output",
    );
  if (raw !== "" && output !== "") throw new KubectlError("--raw and --output are mutually exclusive");
  if (flags["show-labels"] && output !== "" && output !== "wide")
    throw new KubectlError(`--show-labels option cannot be used with ${output} printer`);
  if (flags["output-watch-events"] && !watch && !watchOnly)
    throw new KubectlError("--output-watch-events option can only be used with --watch or --watch-only");
}

function warnOfSorting(session: Session, flags: GetFlags): void {
  if (flags["sort-by"] === "") return;
  if (flags.watch)
    session.printError("warning: --watch requested, --sort-by will be ignored for watch events received");
  else if (flags["watch-only"]) session.printError("warning: --watch-only requested, --sort-by will be ignored");
}

function resourceMissing(session: Session, commandPath: string): KubectlError {
  session.printError(
    'You must specify the type of resource to get. Use "kubectl api-resources" for a complete list of supported resources.\n',
  );
  return usageError(
    'Required resource not specified.\nUse "kubectl explain <resource>" for a detailed description of that resource (e.g. kubectl explain pods).',
    commandPath,
  );
}
