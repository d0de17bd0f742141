import {
  type AnyStruct,
  bool,
  double,
  type Either,
  either,
  eitherOf,
  type Infer,
  int64,
  json,
  lazy,
  list,
  map,
  ref,
  scalars,
  string,
  struct,
} from "#schema/index.ts";

export const ExternalDocumentation = struct("apiextensions/v1.ExternalDocumentation", {
  description: string(1, "What is found there."),
  url: string(2, "Where it is."),
});
export interface ExternalDocumentation extends Infer<typeof ExternalDocumentation> {}

export const ValidationRule = struct("apiextensions/v1.ValidationRule", {
  rule: string(1, "A CEL expression that is true of valid values; they are called self.").required(),
  message: string(2, "What to say when it is not."),
  messageExpression: string(3, "A CEL expression that makes the message."),
  reason: string(4, "The reason of the refusal for machines.")
    .known("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
    .pointer(),
  fieldPath: string(5, "The field below that the refusal names."),
  optionalOldSelf: bool(6, "Whether the rule holds on creation too, when there is no old value.").pointer(),
});
export interface ValidationRule extends Infer<typeof ValidationRule> {}

/** A schema contains schemas: the type of the inner ones is named here, since it cannot be inferred from itself. */
const nested = lazy<JSONSchemaProps>(jsonSchemaProps);
function jsonSchemaProps(): AnyStruct {
  return JSONSchemaProps;
}

const schemaOr = (
  name: string,
  doc: string,
  numbers: { schema: number; other: number },
  other: Either["other"],
): Either => ({
  name: `apiextensions/v1.${name}`,
  doc,
  struct: jsonSchemaProps,
  structNumber: numbers.schema,
  other,
  otherNumber: numbers.other,
});
const schemaOrBool = schemaOr(
  "JSONSchemaPropsOrBool",
  "A schema, or whether anything is allowed.",
  { schema: 2, other: 1 },
  scalars.bool,
);
const schemaOrArray: Either = {
  ...schemaOr(
    "JSONSchemaPropsOrArray",
    "A schema, or one for each item.",
    { schema: 1, other: 2 },
    { is: "list", item: { is: "struct", struct: jsonSchemaProps } },
  ),
  ignoresRest: true,
};
const schemaOrStrings = schemaOr(
  "JSONSchemaPropsOrStringArray",
  "A schema, or the names of fields.",
  { schema: 1, other: 2 },
  { is: "list", item: scalars.string },
);

export const JSONSchemaProps = struct("apiextensions/v1.JSONSchemaProps", {
  id: string(1, "Not supported."),
  $schema: string(2, "Not supported."),
  $ref: string(3, "Not supported.").pointer(),
  description: string(4, "What the value is for."),
  type: string(5, "Type of the value: array, boolean, integer, number, object or string."),
  format: string(6, "Format of the value, such as date-time."),
  title: string(7, "A short name for people."),
  default: json(8, "Set when the value is absent.").pointer(),
  maximum: double(9, "The largest number allowed.").pointer(),
  exclusiveMaximum: bool(10, "Whether that number itself is not allowed."),
  minimum: double(11, "The smallest number allowed.").pointer(),
  exclusiveMinimum: bool(12, "Whether that number itself is not allowed."),
  maxLength: int64(13, "The most characters allowed.").pointer(),
  minLength: int64(14, "The fewest characters allowed.").pointer(),
  pattern: string(15, "A regular expression that text must match."),
  maxItems: int64(16, "The most items allowed.").pointer(),
  minItems: int64(17, "The fewest items allowed.").pointer(),
  uniqueItems: bool(18, "Must be false; lists of x-kubernetes-list-type set have no duplicates."),
  multipleOf: double(19, "What numbers must be a multiple of.").pointer(),
  enum: list(20, "json", "The values allowed."),
  maxProperties: int64(21, "The most fields allowed.").pointer(),
  minProperties: int64(22, "The fewest fields allowed.").pointer(),
  required: list(23, "string", "Fields that must be there."),
  items: either<JSONSchemaProps | readonly JSONSchemaProps[]>(
    24,
    schemaOrArray,
    "What the items of an array look like.",
  ).pointer(),
  allOf: list(25, nested, "Further conditions, all of which hold."),
  oneOf: list(26, nested, "Further conditions, exactly one of which holds."),
  anyOf: list(27, nested, "Further conditions, at least one of which holds."),
  not: ref(28, nested, "A condition that does not hold."),
  properties: map(29, nested, "The fields of an object."),
  additionalProperties: either<JSONSchemaProps | boolean>(
    30,
    schemaOrBool,
    "What the values of a map look like.",
  ).pointer(),
  patternProperties: map(31, nested, "Not supported."),
  dependencies: map(32, eitherOf<JSONSchemaProps | readonly string[]>(schemaOrStrings), "Not supported."),
  additionalItems: either<JSONSchemaProps | boolean>(33, schemaOrBool, "Not supported.").pointer(),
  definitions: map(34, nested, "Not supported."),
  externalDocs: ref(35, ExternalDocumentation, "Where to read more."),
  example: json(36, "An example of a value.").pointer(),
  nullable: bool(37, "Whether the value may be null."),
  "x-kubernetes-preserve-unknown-fields": bool(
    38,
    "Keeps fields that the schema does not know, here and below.",
  ).pointer(),
  "x-kubernetes-embedded-resource": bool(39, "The value is an object with apiVersion, kind and metadata."),
  "x-kubernetes-int-or-string": bool(40, "The value is an integer or text."),
  "x-kubernetes-list-map-keys": list(41, "string", "Fields by which items of the list are told apart."),
  "x-kubernetes-list-type": string(42, "How the list is merged: atomic, set or map.").pointer(),
  "x-kubernetes-map-type": string(43, "How the object is merged: granular or atomic.").pointer(),
  "x-kubernetes-validations": list(44, ValidationRule, "Rules in CEL that values must meet.").keyedBy("rule"),
});
export interface JSONSchemaProps extends Infer<typeof JSONSchemaProps> {}

export const CustomResourceValidation = struct("apiextensions/v1.CustomResourceValidation", {
  openAPIV3Schema: ref(1, JSONSchemaProps, "The schema that objects must follow."),
});
export interface CustomResourceValidation extends Infer<typeof CustomResourceValidation> {}
