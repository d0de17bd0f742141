// How objects are printed: one maker for each output format.
import { isObject } from "#base/is-object.ts";
import type { GoMap } from "../go/value.ts";

/** An object as it came from a server or a manifest. */
export type PrintableObject = Readonly<Record<string, unknown>>;

export interface ObjectPrinter {
  /** Throws KubectlError; what was written until then has been written. */
  print(object: PrintableObject, write: (data: string | Uint8Array) => void): void;
}

/** Objects are JSON, which is what templates and paths take. */
export const asGoMap = (object: PrintableObject): GoMap => object as GoMap;

export const isList = (object: PrintableObject): boolean =>
  Array.isArray(object.items) && String(object.kind).endsWith("List");

/** What is no object in a list is printed as one that says nothing. */
export const itemsOf = (object: PrintableObject): readonly PrintableObject[] =>
  isList(object) ? (object.items as readonly unknown[]).map((item) => (isObject(item) ? item : {})) : [object];

/** What objects say must not steer the terminal it is shown on; other control characters stay, as upstream leaves them. */
export const escapeTerminal = (text: string): string => text.replaceAll("\u001b", "^[").replaceAll("\r", "\\r");
