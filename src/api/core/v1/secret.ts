import { textToBase64 } from "#base/base64.ts";
import { setOwn } from "#base/collections.ts";
import { ageColumn, nameColumn } from "#schema/columns.ts";
import { bool, type Infer, map, type Problem, resource, string } from "#schema/index.ts";
import { checkSecret } from "./checks/data.ts";

export const Secret = resource({
  group: "",
  version: "v1",
  kind: "Secret",
  plural: "secrets",
  scope: "Namespaced",
  doc: "Passwords, keys and tokens for pods, kept apart from what everyone may read.",
  fields: {
    immutable: bool(5, "Once true, neither the data nor this can change.").pointer(),
    data: map(2, "bytes", "Keys and their bytes, in base64."),
    stringData: map(4, "string", "Keys and their text, for writing only; becomes part of data."),
    type: string(3, "What is in it, for programs that need certain keys; cannot change.").default("Opaque").immutable(),
  },
  columns: [
    nameColumn,
    { name: "Type", doc: "What is in it.", cell: ({ type }) => type },
    { name: "Data", doc: "How many keys there are.", cell: ({ data }) => Object.keys(data ?? {}).length },
    ageColumn,
  ],
  selectableFields: { type: ({ type }) => type },
  complete(secret): void {
    const { stringData } = secret;
    for (const key in stringData) {
      secret.data ??= {};
      setOwn(secret.data, key, textToBase64(stringData[key] as string));
    }
    delete secret.stringData;
  },
  check: (secret, old): Iterable<Problem> => checkSecret(secret, old),
});
export interface Secret extends Infer<typeof Secret> {}
