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
  description: string(1),
  url: string(2),
});
export interface ExternalDocumentation extends Infer<typeof ExternalDocumentation> {}

export const ValidationRule = struct("apiextensions/v1.ValidationRule", {
  rule: string(1).required(),
  message: string(2),
  messageExpression: string(3),
  reason: string(4)
    .oneOf("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
    .pointer(),
  fieldPath: string(5),
  optionalOldSelf: bool(6).pointer(),
});
export interface ValidationRule extends Infer<typeof ValidationRule> {}

/** A schema contains schemas: the type of the inner ones is named here, since it cannot be inferred from itself. */
const nested = lazy<JSONSchemaProps>(jsonSchemaProps);
function jsonSchemaProps(): AnyStruct {
  return JSONSchemaProps;
}

const schemaOr = (name: string, numbers: { schema: number; other: number }, other: Either["other"]): Either => ({
  name: `apiextensions/v1.${name}`,
  struct: jsonSchemaProps,
  structNumber: numbers.schema,
  other,
  otherNumber: numbers.other,
});
const schemaOrBool = schemaOr("JSONSchemaPropsOrBool", { schema: 2, other: 1 }, scalars.bool);
const schemaOrArray = schemaOr(
  "JSONSchemaPropsOrArray",
  { schema: 1, other: 2 },
  { is: "list", item: { is: "struct", struct: jsonSchemaProps } },
);
const schemaOrStrings = schemaOr(
  "JSONSchemaPropsOrStringArray",
  { schema: 1, other: 2 },
  { is: "list", item: scalars.string },
);

export const JSONSchemaProps = struct("apiextensions/v1.JSONSchemaProps", {
  id: string(1),
  $schema: string(2),
  $ref: string(3).pointer(),
  description: string(4),
  type: string(5),
  format: string(6),
  title: string(7),
  default: json(8).pointer(),
  maximum: double(9).pointer(),
  exclusiveMaximum: bool(10),
  minimum: double(11).pointer(),
  exclusiveMinimum: bool(12),
  maxLength: int64(13).pointer(),
  minLength: int64(14).pointer(),
  pattern: string(15),
  maxItems: int64(16).pointer(),
  minItems: int64(17).pointer(),
  uniqueItems: bool(18),
  multipleOf: double(19).pointer(),
  enum: list(20, "json"),
  maxProperties: int64(21).pointer(),
  minProperties: int64(22).pointer(),
  required: list(23, "string"),
  items: either<JSONSchemaProps | readonly JSONSchemaProps[]>(24, schemaOrArray).pointer(),
  allOf: list(25, nested),
  oneOf: list(26, nested),
  anyOf: list(27, nested),
  not: ref(28, nested),
  properties: map(29, nested),
  additionalProperties: either<JSONSchemaProps | boolean>(30, schemaOrBool).pointer(),
  patternProperties: map(31, nested),
  dependencies: map(32, eitherOf<JSONSchemaProps | readonly string[]>(schemaOrStrings)),
  additionalItems: either<JSONSchemaProps | boolean>(33, schemaOrBool).pointer(),
  definitions: map(34, nested),
  externalDocs: ref(35, ExternalDocumentation),
  example: json(36).pointer(),
  nullable: bool(37),
  "x-kubernetes-preserve-unknown-fields": bool(38).pointer(),
  "x-kubernetes-embedded-resource": bool(39),
  "x-kubernetes-int-or-string": bool(40),
  "x-kubernetes-list-map-keys": list(41, "string"),
  "x-kubernetes-list-type": string(42).pointer(),
  "x-kubernetes-map-type": string(43).pointer(),
  "x-kubernetes-validations": list(44, ValidationRule).keyedBy("rule"),
});
export interface JSONSchemaProps extends Infer<typeof JSONSchemaProps> {}

export const CustomResourceValidation = struct("apiextensions/v1.CustomResourceValidation", {
  openAPIV3Schema: ref(1, JSONSchemaProps),
});
export interface CustomResourceValidation extends Infer<typeof CustomResourceValidation> {}
