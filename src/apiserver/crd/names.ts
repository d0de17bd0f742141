// Which of the names that a definition asks for it gets: those that no other definition of its group has. Follows
// apiextensions-apiserver/pkg/controller/status/naming_controller.go.
import type { CustomResourceDefinition } from "#api/apiextensions/v1/custom-resource-definition.ts";
import { equal } from "#base/collections.ts";

type Names = CustomResourceDefinition["spec"]["names"];

/** Names that are given out in a group: resources share one space, kinds another. */
export interface TakenNames {
  readonly resources: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
}

export interface NameConflict {
  readonly reason: string;
  readonly message: string;
}

export interface AcceptedNames {
  readonly names: Partial<Names>;
  /** Undefined if the definition got all it asked for. */
  readonly conflict: NameConflict | undefined;
}

export class NamesOfGroup implements TakenNames {
  readonly resources = new Set<string>();
  readonly kinds = new Set<string>();

  /** Takes the names that a definition has. */
  add({ plural, singular, shortNames = [], kind, listKind }: Partial<Names>): void {
    for (const name of [plural, singular, ...shortNames]) if (name) this.resources.add(name);
    for (const name of [kind, listKind]) if (name) this.kinds.add(name);
  }
}

/** Of several conflicts the last is told, as upstream does it. `taken` includes what the definition itself has. */
export function acceptNames(wanted: Names, present: Partial<Names>, taken: TakenNames): AcceptedNames {
  let conflict: NameConflict | undefined;
  const names: { -readonly [K in keyof Names]?: Names[K] } = { ...present };
  const take = (field: "plural" | "singular" | "kind" | "listKind", used: ReadonlySet<string>): void => {
    const name = wanted[field] ?? "";
    if (name !== (present[field] ?? "") && used.has(name))
      conflict = { reason: `${field[0]?.toUpperCase()}${field.slice(1)}Conflict`, message: inUse(name) };
    else names[field] = name;
  };
  take("plural", taken.resources);
  take("singular", taken.resources);
  const clashes = (wanted.shortNames ?? []).filter(
    (name) => !present.shortNames?.includes(name) && taken.resources.has(name),
  );
  if (clashes.length > 0) conflict = { reason: "ShortNamesConflict", message: aggregated(clashes.map(inUse)) };
  else setOrDelete(names, "shortNames", wanted.shortNames);
  take("kind", taken.kinds);
  take("listKind", taken.kinds);
  setOrDelete(names, "categories", wanted.categories);
  return { names, conflict };
}

/** Whether a definition has all the names it asks for. */
export const hasItsNames = ({ spec, status }: CustomResourceDefinition): boolean =>
  equal(spec.names, status.acceptedNames);

const inUse = (name: string): string => `${JSON.stringify(name)} is already in use`;

/** Go's way to tell several errors at once. */
const aggregated = (messages: readonly string[]): string => {
  const unique = [...new Set(messages)];
  return unique.length === 1 ? (unique[0] as string) : `[${unique.join(", ")}]`;
};

function setOrDelete<K extends "shortNames" | "categories">(
  names: { -readonly [N in keyof Names]?: Names[N] },
  field: K,
  value: Names[K] | undefined,
): void {
  if (value === undefined) delete names[field];
  else names[field] = value;
}
