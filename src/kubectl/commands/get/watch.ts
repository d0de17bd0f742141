// get --watch: the list, then what happens to it.
import { isNotFound } from "#base/errors.ts";
import { KubectlError } from "../../errors.ts";
import { metadataOf, type ResourceInfo, stringIn } from "../../resources/resource-info.ts";
import { isList, ResourceQuery } from "../../resources/resource-query.ts";
import { watchResource } from "../../resources/watch-resource.ts";
import type { KubeObject } from "../../rest/client.ts";
import type { Session } from "../../session.ts";
import { TabWriter, tableColumns } from "../../tab-writer.ts";
import { isTable } from "../../table/table.ts";
import { type GetFlags, isTableOutput, queryOptions, tablePrinter } from "./get.ts";
import { eventPrinter, getPrinter } from "./printers.ts";

type EventWriter = (object: KubeObject, eventType: string) => void;

export async function watchObjects(session: Session, args: readonly string[], flags: GetFlags): Promise<void> {
  if (isTableOutput(flags) && !flags["output-watch-events"]) {
    const { isLiveView, showLive } = await import("./live-view.ts");
    if (isLiveView(session, args)) return showLive(session, args, flags);
  }
  const options = { ...queryOptions(args, flags), flatten: false, continueOnError: false, singleResourceType: true };
  const query = await ResourceQuery.of(session, options);
  let infos: ResourceInfo[];
  try {
    infos = await query.infos();
  } catch (error) {
    if (isNotFound(error) && flags["ignore-not-found"]) return;
    throw error;
  }
  const [info] = infos;
  const last = infos.at(-1);
  if (!info?.mapping || !last)
    throw new KubectlError("watch is only supported on individual resources and resource collections");
  if (query.targetsSingleItems && infos.length > 1)
    throw new KubectlError(
      `watch is only supported on individual resources and resource collections - ${infos.length} resources were found`,
    );
  const write = eventWriter(session, flags, info.mapping);
  const isCollection = !query.targetsSingleItems;
  if (!flags["watch-only"]) for (const { object } of infos) for (const one of itemsOf(object)) write(one, "ADDED");
  // A list says where it stands; an object is watched from about now, and shown once more by the watch itself.
  const resourceVersion = isCollection ? stringIn(metadataOf(last.object).resourceVersion) : "0";
  let isFirst = !isCollection;
  const events = watchResource(await session.client(), {
    mapping: info.mapping,
    namespace: info.namespace,
    ...(isCollection
      ? { labelSelector: flags.selector.trim(), fieldSelector: flags["field-selector"].trim() }
      : { name: info.name }),
    resourceVersion,
    ...(options.accept !== undefined && { accept: options.accept }),
    ...(options.query && { query: options.query }),
  });
  for await (const { type, object } of events) {
    if (type === "ERROR") return;
    if (!isFirst) write(object, type);
    isFirst = false;
  }
}

const itemsOf = (object: KubeObject | undefined): readonly KubeObject[] =>
  object === undefined ? [] : isList(object) && !isTable(object) ? (object.items as KubeObject[]) : [object];

function eventWriter(session: Session, flags: GetFlags, mapping: NonNullable<ResourceInfo["mapping"]>): EventWriter {
  const withEvents = flags["output-watch-events"];
  const { stdout } = session.io;
  if (isTableOutput(flags)) {
    const writer = new TabWriter((text) => stdout.write(text), tableColumns);
    const withNamespace = flags["all-namespaces"];
    const printer = tablePrinter(session, flags, withNamespace, flags["show-kind"] ? mapping : undefined);
    return (object, eventType) => {
      printer.print(object, writer, withEvents ? eventType : "");
      writer.flush();
    };
  }
  if (withEvents) {
    const print = eventPrinter(session, flags);
    return (object, type) => print(type, object, (data) => stdout.write(data));
  }
  const printer = getPrinter(session, flags);
  return (object) => printer.print(object, (data) => stdout.write(data));
}
