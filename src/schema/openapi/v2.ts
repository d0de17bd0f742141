// The OpenAPI 2 document: the whole API in one, as kubectl before 1.27 reads it.
import { toBase64Url } from "#base/base64.ts";
import { sha256 } from "#base/sha256.ts";
import { Definitions, type JsonValue, type KindsOf, type Model } from "./definitions.ts";
import type { ApiOperation, Paths } from "./operations.ts";
import { type Parameter, shared } from "./parameters.ts";
import { bearerToken, eachPath, extensions, type Title } from "./v3.ts";

export async function documentV2(title: Title, paths: Paths, kindsOf: KindsOf): Promise<JsonValue> {
  const definitions = new Definitions(2, kindsOf);
  const parameters = new SharedParameters();
  const items = await eachPath(paths, (operations) => pathItem(operations, definitions, parameters));
  return {
    swagger: "2.0",
    info: title,
    paths: items,
    definitions: await definitions.all(),
    parameters: parameters.all(),
    securityDefinitions: { BearerToken: bearerToken },
    security: [{ BearerToken: [] }],
  };
}

function pathItem(
  operations: readonly ApiOperation[],
  definitions: Definitions,
  parameters: SharedParameters,
): JsonValue {
  const { common, own } = shared(operations.map((one) => one.parameters));
  return {
    ...Object.fromEntries(
      operations.map((one, i) => [one.method, operationItem(one, own[i] ?? [], definitions, parameters)] as const),
    ),
    ...(common.length > 0 && { parameters: common.map((one) => parameters.refTo(one)) }),
  };
}

function operationItem(
  operation: ApiOperation,
  own: readonly Parameter[],
  definitions: Definitions,
  parameters: SharedParameters,
): JsonValue {
  const { id, tag, description, body, responses, consumes, produces } = operation;
  const all = [
    ...(body ? [parameters.refToBody(body.model, body.required, definitions.refTo(body.model))] : []),
    ...own.map((one) => parameters.refTo(one)),
  ];
  const answers = responses.map(([code, text, model]): [number, JsonValue] => [
    code,
    { description: text, schema: definitions.refTo(model) },
  ]);
  return {
    ...(consumes.length > 0 && { consumes }),
    produces,
    schemes: ["https"],
    tags: [tag],
    description,
    operationId: id,
    ...(all.length > 0 && { parameters: all }),
    responses: { ...Object.fromEntries(answers), 401: { description: "Unauthorized" } },
    ...extensions(operation),
  };
}

/** Parameters that many operations have are defined once. Those that kubectl looks for in the operation itself stay there. */
class SharedParameters {
  readonly #all = new Map<string, JsonValue>();
  readonly #names = new Map<string, string>();

  all(): JsonValue {
    return Object.fromEntries([...this.#all].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  refTo({ name, in: place, type, description }: Parameter): JsonValue {
    const parameter = {
      ...(description && { description }),
      in: place,
      name,
      ...(place === "path" && { required: true }),
      type,
      uniqueItems: true,
    };
    return unshared.has(name) ? parameter : this.#share(name, parameter);
  }

  refToBody(model: Model, required: boolean, schema: JsonValue): JsonValue {
    const parameter = { in: "body", name: "body", ...(required && { required }), schema };
    return model === "patch" || (typeof model === "object" && "struct" in model)
      ? this.#share("body", parameter)
      : parameter;
  }

  #share(name: string, parameter: JsonValue): JsonValue {
    const json = JSON.stringify(parameter);
    const known = this.#names.get(json);
    if (known !== undefined) return { $ref: `#/parameters/${known}` };
    const unique = `${name}-${toBase64Url(sha256(json).subarray(0, 6))}`;
    this.#names.set(json, unique);
    this.#all.set(unique, parameter);
    return { $ref: `#/parameters/${unique}` };
  }
}

/** kubectl up to 1.26 finds out about dry runs and field validation from these. */
const unshared: ReadonlySet<string> = new Set(["name", "dryRun", "fieldValidation"]);
