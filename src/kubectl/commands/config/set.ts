// config set and unset: one value by its path, such as contexts.my-context.namespace.
import { command } from "../../command.ts";
import { KubectlError } from "../../errors.ts";
import { parseBool } from "../../flags.ts";
import type { Session } from "../../session.ts";
import { type ConfigList, entryIn, startingConfig, writeCurrentContext, writeEntry } from "./config-files.ts";
import { unexpectedArguments } from "./contexts.ts";

type FieldType = "text" | "bytes" | "bool";
const fields: Readonly<Record<ConfigList, Readonly<Record<string, FieldType>>>> = {
  clusters: {
    server: "text",
    "tls-server-name": "text",
    "insecure-skip-tls-verify": "bool",
    "certificate-authority": "text",
    "certificate-authority-data": "bytes",
    "proxy-url": "text",
    "disable-compression": "bool",
  },
  users: {
    "client-certificate": "text",
    "client-certificate-data": "bytes",
    "client-key": "text",
    "client-key-data": "bytes",
    token: "text",
    tokenFile: "text",
    as: "text",
    "as-uid": "text",
    username: "text",
    password: "text",
  },
  contexts: { cluster: "text", user: "text", namespace: "text" },
};
const isConfigList = (text: string): text is ConfigList => Object.hasOwn(fields, text);

export const set = command({
  use: "set PROPERTY_NAME PROPERTY_VALUE",
  examples: "# Set the namespace of a context\nkubectl config set contexts.my-context.namespace team",
  flags: { "set-raw-bytes": { type: "bool", help: "The value of a field of bytes is given as it is, not in base64." } },
  async run(session, args, flags) {
    const [name = "", value = ""] = args;
    if (args.length !== 2) throw unexpectedArguments(session, args, "set PROPERTY_NAME PROPERTY_VALUE");
    if (value === "") throw new KubectlError("you cannot use set to unset a property");
    if (name === "") throw new KubectlError("you must specify a property");
    await change(session, name, (type) => typedValue(type, value, flags["set-raw-bytes"]));
    session.print(`Property ${JSON.stringify(name)} set.`);
  },
});

export const unset = command({
  use: "unset PROPERTY_NAME",
  examples: "# Unset the current context\nkubectl config unset current-context",
  async run(session, args) {
    const [name = ""] = args;
    if (args.length !== 1) throw unexpectedArguments(session, args, "unset PROPERTY_NAME");
    if (name === "") throw new KubectlError("you must specify a property");
    await change(session, name, () => undefined);
    session.print(`Property ${JSON.stringify(name)} unset.`);
  },
});

function typedValue(type: FieldType, text: string, isRaw: boolean): unknown {
  switch (type) {
    case "text":
      return text;
    case "bool":
      return parseBool(text);
    case "bytes":
      return isRaw ? Buffer.from(text).toString("base64") : text;
  }
}

async function change(session: Session, property: string, valueFor: (type: FieldType) => unknown): Promise<void> {
  if (property === "current-context") return writeCurrentContext(session, String(valueFor("text") ?? ""));
  const [list = "", ...rest] = property.split(".");
  if (!isConfigList(list)) throw new KubectlError(`unable to parse ${property} after [] at api.Config`);
  // A name may contain dots: it ends where a known field begins.
  const known = fields[list];
  const at = rest.findIndex((part, i) => i > 0 && Object.hasOwn(known, part));
  const name = (at < 0 ? rest : rest.slice(0, at)).join(".");
  const isRemoval = valueFor("text") === undefined;
  const config = await startingConfig(session);
  if (name === "" && isRemoval) {
    for (const entry of config[list]) await writeEntry(session, list, entry.name, undefined);
    return;
  }
  if (at < 0) {
    if (!isRemoval || name === "") throw new KubectlError("can't set a map to a value: map[]");
    return writeEntry(session, list, name, undefined);
  }
  const field = rest[at] as string;
  if (rest.length > at + 1) throw new KubectlError(`unable to parse one or more field values of ${property}`);
  const present = entryIn(config, list, name);
  if (!present && isRemoval) throw new KubectlError(`current map key \`${name}\` is invalid`);
  const empty = list === "clusters" ? { server: "" } : list === "contexts" ? { cluster: "", user: "" } : {};
  const { [field]: _, ...others } = { ...empty, ...present } as Readonly<Record<string, unknown>>;
  const value = valueFor(known[field] as FieldType);
  const isKept = Object.hasOwn(empty, field);
  return writeEntry(session, list, name, {
    ...others,
    ...(value !== undefined ? { [field]: value } : isKept && { [field]: "" }),
  });
}
