// One OpenAPI 3 document: paths with their operations, and the definitions these refer to.
import { breathe } from "#base/breathe.ts";
import { Definitions, type JsonValue, type KindsOf } from "./definitions.ts";
import type { ApiOperation, Paths } from "./operations.ts";
import { type Parameter, shared } from "./parameters.ts";

export interface Title {
  readonly title: string;
  readonly version: string;
}

export async function documentV3(title: Title, paths: Paths, kindsOf: KindsOf): Promise<JsonValue> {
  const definitions = new Definitions(3, kindsOf);
  const items = await eachPath(paths, (operations) => pathItem(operations, definitions));
  const schemas = await definitions.all();
  return {
    openapi: "3.0.0",
    info: title,
    paths: items,
    components: { ...(Object.keys(schemas).length > 0 && { schemas }), securitySchemes },
  };
}

/** Makes something of every path, in order, and gives way to other work in between. */
export async function eachPath(
  paths: Paths,
  make: (operations: readonly ApiOperation[]) => JsonValue,
): Promise<JsonValue> {
  const pause = breathe();
  const items: [string, JsonValue][] = [];
  for (const [path, operations] of [...paths].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    items.push([path, make(operations)]);
    if (pause.due()) await pause.now();
  }
  return Object.fromEntries(items);
}

export const bearerToken = {
  description: "A bearer token.",
  in: "header",
  name: "authorization",
  type: "apiKey",
} as const;
const securitySchemes = { BearerToken: bearerToken };

function pathItem(operations: readonly ApiOperation[], definitions: Definitions): JsonValue {
  const { common, own } = shared(operations.map(({ parameters }) => parameters));
  return {
    ...Object.fromEntries(
      operations.map((one, i) => [one.method, operationItem(one, own[i] ?? [], definitions)] as const),
    ),
    ...(common.length > 0 && { parameters: common.map(parameter) }),
  };
}

function operationItem(operation: ApiOperation, parameters: readonly Parameter[], definitions: Definitions): JsonValue {
  const { id, tag, description, body, responses, consumes, produces } = operation;
  const content = (types: readonly string[], schema: JsonValue) =>
    Object.fromEntries(types.map((type) => [type, { schema }]));
  const answers = responses.map(([code, text, model]): [number, JsonValue] => [
    code,
    { description: text, content: content(produces, definitions.refTo(model)) },
  ]);
  return {
    tags: [tag],
    description,
    operationId: id,
    ...(parameters.length > 0 && { parameters: parameters.map(parameter) }),
    ...(body && {
      requestBody: {
        content: content(consumes, definitions.refTo(body.model)),
        ...(body.required && { required: true }),
      },
    }),
    responses: { ...Object.fromEntries(answers), 401: { description: "Unauthorized" } },
    ...extensions(operation),
  };
}

export const extensions = ({ action, of }: ApiOperation): JsonValue => ({
  ...(action !== undefined && { "x-kubernetes-action": action }),
  ...(of && { "x-kubernetes-group-version-kind": { group: of.group, kind: of.kind, version: of.version } }),
});

const parameter = ({ name, in: place, type, description }: Parameter): JsonValue => ({
  name,
  in: place,
  ...(description && { description }),
  ...(place === "path" && { required: true }),
  schema: { type, uniqueItems: true },
});
