// The model of objects whose struct is declared in the code. All of it is compiled once per struct, at first use.
import { shapeOf } from "./apply/declared.ts";
import { completed, zeroOf } from "./apply/zero.ts";
import { decodeParsed, decodeValue } from "./decode.ts";
import { applyDefaults } from "./defaults.ts";
import { parseJson } from "./json.ts";
import type { ObjectModel } from "./model.ts";
import { definitionName } from "./openapi/names.ts";
import { hasProtobuf } from "./protobuf/message.ts";
import type { AnyStruct } from "./struct.ts";
import { validateStatusField, validateStruct } from "./validate.ts";
import { asHeld, asWritten } from "./written.ts";

/** The names of a kind's own fields are given, since its struct has those of every object, too. */
export function declared(struct: AnyStruct, fieldNames: readonly string[]): ObjectModel {
  return {
    fieldNames,
    fieldsOf: () => fieldNames,
    keepsInt64: false,
    decodeParsed: (text, parsed) => decodeParsed(struct, text, parsed),
    decodeValue: (value) => decodeValue(struct, value),
    parse: (text) => asHeld(struct, parseJson(text).value as object),
    applyDefaults: (object) => void applyDefaults(struct, object),
    validate: (object, old, problems) => validateStruct(struct, object, old, problems),
    validateStatus: (object, old, problems) => validateStatusField(struct, object, old, problems),
    get shape() {
      return shapeOf(struct);
    },
    get zero() {
      return asWritten(struct, zeroOf(struct));
    },
    completed: (object) => completed(struct, object),
    publication: {
      definitionName: () => definitionName(struct.name),
      get protobuf() {
        return hasProtobuf(struct);
      },
      strategicPatch: true,
      watchPaths: true,
      defaultsItems: true,
      isUnstructured: false,
      tellsSelectableFields: false,
      abbreviatesKinds: true,
    },
  };
}
