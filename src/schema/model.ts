// The object model of a kind: decoding, defaults, validation, ownership of fields and publishing. There are two makers: `declared` for kinds
// whose structs are in the code, and `structural` for kinds whose schema comes at run time. Other code does not ask which one it was.
//
// In memory an object is what JSON.stringify writes, whichever made it. Protobuf, strategic patches and tables go by the kind's struct.
import type { ApplyShape } from "./apply/shape.ts";
import type { JsonMap } from "./apply/value.ts";
import type { DecodeResult } from "./decode.ts";
import type { ParsedJson } from "./json.ts";
import type { Problem } from "./problem.ts";

export interface ObjectModel {
  /** The fields that are known by name, besides apiVersion, kind and metadata. */
  readonly fieldNames: readonly string[];
  /** The fields that objects of the kind may have, or of those that may have any, the fields that these objects have. */
  fieldsOf(...objects: readonly object[]): readonly string[];

  /** Whether integers of 64 bits stay what they are: those that a double cannot hold are a bigint, and parsing must not round them. */
  readonly keepsInt64: boolean;
  /** Decodes a text that has been parsed; what was parsed becomes the object. Throws DecodeError for what no mode of validation forgives. */
  decodeParsed(text: string, parsed: ParsedJson): DecodeResult;
  /** Decodes a parsed value, which becomes the object and must not be shared. */
  decodeValue(value: unknown): DecodeResult;
  /** The object in what the store has, or a server sent: written by one of us, so that there is nothing to check. */
  parse(text: string): object;

  /** The same object if what wrote it knew another schema: what this one does not know is dropped, and what it fills in is filled in. */
  reread?(text: string): object;

  /** Fills in defaults, in place. Doing it twice changes nothing more. */
  applyDefaults(object: object): void;
  /** Adds the problems of a defaulted object, but for those of metadata, which are the same for all kinds. With `old`, of the update from it. */
  validate(object: JsonMap, old: JsonMap | undefined, problems: Problem[], warn?: WarnOfProblem): void;
  /** The same, of an update through the status subresource. */
  validateStatus(object: JsonMap, old: JsonMap, problems: Problem[], warn?: WarnOfProblem): void;

  /** How ownership of fields sees it. */
  readonly shape: ApplyShape;
  /** What an object has before anything was set. */
  readonly zero: JsonMap;
  /** The object with all that is always there, as conversions expect it. */
  completed(object: JsonMap): JsonMap;

  readonly publication: Publication;
}

/** Takes problems that are let go, as that of a rule which came after the value did. */
export type WarnOfProblem = (problem: Problem) => void;

/** What clients are told of a kind, and may send, where upstream's two sorts of kinds differ. */
export interface Publication {
  /** The author's schema, where documents show that, and not one that is made of the struct. */
  readonly schema?: JsonMap;
  /**
   * Whether upstream holds objects as maps and not as structs of Go. Then they name their kind themselves wherever they are, must be sent
   * with it, and are refused in other words.
   */
  readonly isUnstructured: boolean;
  /** The name of the type in OpenAPI documents. */
  definitionName(kind: { readonly group: string; readonly version: string; readonly kind: string }): string;
  readonly protobuf: boolean;
  readonly strategicPatch: boolean;
  /** The paths that begin with `watch`, which the watch parameter of lists has outlived. */
  readonly watchPaths: boolean;
  /** Whether OpenAPI says that an item of a list is an empty object where it is absent. */
  readonly defaultsItems: boolean;
  /** Whether OpenAPI says by which fields objects can be selected. */
  readonly tellsSelectableFields: boolean;
  /** Whether discovery leaves the group and version of a subresource empty where they are those of the resource. */
  readonly abbreviatesKinds: boolean;
}
