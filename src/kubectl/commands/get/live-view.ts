// `get pods,services --watch` on a terminal: several tables that change in place.
import { isObject } from "#base/is-object.ts";
import type { RestMapping } from "../../discovery/rest-mapper.ts";
import { KubectlError } from "../../errors.ts";
import { metadataOf, stringIn } from "../../resources/resource-info.ts";
import { ResourceQuery } from "../../resources/resource-query.ts";
import { watchResource } from "../../resources/watch-resource.ts";
import type { KubeObject } from "../../rest/client.ts";
import type { Session } from "../../session.ts";
import { TabWriter, tableColumns } from "../../tab-writer.ts";
import { acceptTable, isTable, rowsOf } from "../../table/table.ts";
import { type GetFlags, queryOptions, tablePrinter } from "./get.ts";

interface LiveTable {
  readonly mapping: RestMapping;
  readonly namespace: string;
  resourceVersion: string;
  columns: unknown;
  readonly rows: Map<string, unknown>;
}

/** Not more often than a person can see. */
const frameMs = 100;
const pauseMs = 1000;
const home = "\x1b[H\x1b[2J";

/** Whether several types were asked for, where a terminal can show them changing. */
export const isLiveView = (session: Session, args: readonly string[]): boolean =>
  args.length === 1 && (args[0]?.includes(",") ?? false) && session.io.stdout.isTTY === true;

/** Until the person has had enough. */
export async function showLive(session: Session, args: readonly string[], flags: GetFlags): Promise<void> {
  const tables = await firstTables(session, args, flags);
  let cancel: (() => void) | undefined;
  const draw = () => {
    cancel = undefined;
    session.io.stdout.write(`${home}${screenText(session, tables, flags)}`);
  };
  const changed = () => {
    cancel ??= session.io.clock.after(frameMs, draw);
  };
  const stop = session.io.onResize?.(changed);
  draw();
  try {
    await Promise.all(tables.map((table) => keepUp(session, table, flags, changed)));
  } finally {
    cancel?.();
    stop?.();
  }
}

async function firstTables(session: Session, args: readonly string[], flags: GetFlags): Promise<readonly LiveTable[]> {
  const query = await ResourceQuery.of(session, { ...queryOptions(args, flags), accept: acceptTable, flatten: false });
  return (await query.infos()).map(({ mapping, object, namespace }) => {
    if (!mapping || !object)
      throw new KubectlError("watch is only supported on individual resources and resource collections");
    const table: LiveTable = {
      mapping,
      namespace,
      resourceVersion: stringIn(metadataOf(object).resourceVersion),
      columns: object.columnDefinitions,
      rows: new Map(),
    };
    take(table, "ADDED", object);
    return table;
  });
}

function take(table: LiveTable, type: string, object: KubeObject): void {
  const version = stringIn(metadataOf(object).resourceVersion);
  if (version !== "") table.resourceVersion = version;
  if (!isTable(object)) return;
  if (Array.isArray(object.columnDefinitions) && object.columnDefinitions.length > 0)
    table.columns = object.columnDefinitions;
  for (const row of rowsOf(object)) {
    const { uid, name } = metadataOf(row.object);
    const key = stringIn(uid) || stringIn(name);
    if (type === "DELETED") table.rows.delete(key);
    else table.rows.set(key, row);
  }
}

async function keepUp(session: Session, table: LiveTable, flags: GetFlags, changed: () => void): Promise<void> {
  const { clock, signal } = session.io;
  for (;;) {
    const events = watchResource(await session.client(), {
      mapping: table.mapping,
      namespace: table.namespace,
      labelSelector: flags.selector.trim(),
      fieldSelector: flags["field-selector"].trim(),
      resourceVersion: table.resourceVersion,
      accept: acceptTable,
    });
    for await (const { type, object } of events) {
      if (type === "ERROR") {
        // The server has forgotten that far back: what there is now is shown anew.
        table.rows.clear();
        table.resourceVersion = "";
        break;
      }
      take(table, type, object);
      changed();
    }
    await clock.sleep(pauseMs, signal);
  }
}

function screenText(session: Session, tables: readonly LiveTable[], flags: GetFlags): string {
  const { columns: width = 80, rows: height = 24 } = session.io.stdout;
  const texts = tables.map(({ mapping, columns, rows }) => {
    let text = "";
    const writer = new TabWriter((part) => {
      text += part;
    }, tableColumns);
    const printer = tablePrinter(session, flags, flags["all-namespaces"] && mapping.isNamespaced, mapping);
    const table = {
      kind: "Table",
      apiVersion: "meta.k8s.io/v1",
      columnDefinitions: columns,
      rows: [...rows.values()].filter(isObject),
    };
    printer.print(table, writer);
    writer.flush();
    return text;
  });
  const lines = texts
    .filter((text) => text !== "")
    .join("\n")
    .split("\n")
    .map((line) => line.slice(0, width));
  const room = Math.max(1, height - 1);
  const cut = lines.length > room ? [...lines.slice(0, room - 1), `… ${lines.length - room} more lines`] : lines;
  return cut.join("\r\n");
}
