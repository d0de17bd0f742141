// Whatever has no describer of its own: its fields, as they are.
import { isObject } from "#base/is-object.ts";
import { sprint } from "../go/format.ts";
import { compareText, type GoValue } from "../go/value.ts";
import { metadataOf, stringIn } from "../resources/resource-info.ts";
import type { KubeObject } from "../rest/client.ts";
import { writeEvents, writeIdentity, writeTags } from "./common.ts";
import { type Describer, eventsOf, subjectOf } from "./describer.ts";
import type { DescriptionWriter } from "./description-writer.ts";

/** These are told of before, or by nobody. */
const skipped = new Set(["managedFields", "name", "namespace", "labels", "annotations"].map((f) => `.metadata.${f}`));

export const describeAny: Describer<KubeObject> = async (object, context, w) => {
  const events = await eventsOf(context, subjectOf(object));
  const { name, namespace, labels, annotations } = metadataOf(object);
  const texts = (value: unknown) => (isObject(value) ? (value as Record<string, string>) : undefined);
  writeIdentity(w, { name: stringIn(name), namespace: stringIn(namespace) });
  writeTags(w, { labels: texts(labels), annotations: texts(annotations) });
  writeFields(w, 0, object, "");
  writeEvents(w, events, context.now);
};

function writeFields(w: DescriptionWriter, level: number, object: Readonly<KubeObject>, path: string): void {
  for (const field of Object.keys(object).sort(compareText)) {
    const value = object[field];
    const here = `${path}.${field}`;
    if (skipped.has(here)) continue;
    const label = `${fieldLabel(field)}:`;
    if (Array.isArray(value)) {
      w.line(level, label);
      for (const item of value)
        if (isObject(item)) writeFields(w, level + 1, item, here);
        else w.line(level + 1, sprint([item as GoValue]));
    } else if (isObject(value)) {
      w.line(level, label);
      writeFields(w, level + 1, value, here);
    } else w.line(level, label, sprint([value as GoValue]));
  }
}

const acronyms = new Set(["API", "URL", "UID", "GUID"]);

/** `creationTimestamp` is shown as `Creation Timestamp`; a name with other signs than letters stays. */
export function fieldLabel(field: string): string {
  if (/[^\p{L}-]/u.test(field)) return field;
  const words: string[] = [];
  let wasMerged = false;
  for (const part of camelCaseParts(field)) {
    const last = words.at(-1) ?? "";
    // An acronym stays with the word after it.
    if (!wasMerged && last.length >= 2 && !/\p{Ll}/u.test(last) && /^\p{Lu}/u.test(part)) {
      words[words.length - 1] = last + part;
      wasMerged = true;
    } else {
      words.push(part);
      wasMerged = false;
    }
  }
  return words
    .map((word) =>
      acronyms.has(word.toUpperCase())
        ? word.toUpperCase()
        : word === word.toLowerCase()
          ? word.charAt(0).toUpperCase() + word.slice(1)
          : word,
    )
    .join(" ");
}

/** `podCIDRRange` is `pod`, `CIDR`, `Range`: the last capital of a row begins the next word. */
const camelCaseParts = (field: string): readonly string[] =>
  field.match(/\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|[^\p{Lu}\p{Ll}]+/gu) ?? [];
