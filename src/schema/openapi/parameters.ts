// What a URL may say besides its path.
import type { AnyStruct, Fields } from "../struct.ts";

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query";
  readonly type: "string" | "integer" | "boolean";
  readonly description: string;
}

export const pretty: Parameter = {
  name: "pretty",
  in: "query",
  type: "string",
  description: "Whether the answer is laid out for people: true or false.",
};

export const namespaceParameter: Parameter = {
  name: "namespace",
  in: "path",
  type: "string",
  description: "The namespace of the objects.",
};

export const pathParameter: Parameter = {
  name: "path",
  in: "path",
  type: "string",
  description: "Where to go on behind the resource.",
};

export const nameParameter = (kind: string): Parameter => ({
  name: "name",
  in: "path",
  type: "string",
  description: `Name of the ${kind}.`,
});

/** The fields of an options struct that a query can carry: scalars and lists of them. */
export const parametersOf = ({ fields }: AnyStruct): readonly Parameter[] =>
  Object.entries(fields as Fields).flatMap(([name, { spec }]): Parameter[] => {
    const { type: whole, doc, envelope } = spec;
    const type = queryTypes[whole.is === "list" ? whole.item.is : whole.is];
    return type === undefined || envelope ? [] : [{ name, in: "query", type, description: doc }];
  });

const queryTypes: Readonly<Record<string, Parameter["type"]>> = {
  string: "string",
  bool: "boolean",
  int32: "integer",
  int64: "integer",
};

export const byNameAndPlace = (a: Parameter, b: Parameter): number =>
  a.name === b.name ? compare(a.in, b.in) : compare(a.name, b.name);

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The parameters that all operations of a path share, and per operation those it has besides. */
export function shared(lists: readonly (readonly Parameter[])[]): {
  readonly common: readonly Parameter[];
  readonly own: readonly (readonly Parameter[])[];
} {
  const key = (one: Parameter) => `${one.in} ${one.name}`;
  const counts = new Map<string, number>();
  for (const one of lists.flat()) counts.set(key(one), (counts.get(key(one)) ?? 0) + 1);
  const isCommon = (one: Parameter) => counts.get(key(one)) === lists.length;
  return {
    common: (lists[0] ?? []).filter(isCommon).toSorted(byNameAndPlace),
    own: lists.map((list) => list.filter((one) => !isCommon(one)).toSorted(byNameAndPlace)),
  };
}
