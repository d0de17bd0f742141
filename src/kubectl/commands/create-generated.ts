// Sends objects that a command made from its arguments, and prints them.
import { ApiError } from "#base/errors.ts";
import { KubectlError } from "../errors.ts";
import type { FlagDeclarations } from "../flags.ts";
import { generatedMapping } from "../generators/generated.ts";
import { printFlags } from "../printers/output.ts";
import { createInfo, metadataOf, stringIn } from "../resources/resource-info.ts";
import type { KubeObject } from "../rest/client.ts";
import type { Session } from "../session.ts";
import {
  dryRunFlag,
  fieldManagerFlag,
  printObject,
  saveConfigFlag,
  validateFlag,
  type WriteRequest,
  type WriteSettings,
  withSavedConfig,
  writeSettings,
} from "../write-options.ts";

/** The flags of every `kubectl create SUBCOMMAND`. */
export const generatorFlags = {
  ...printFlags,
  ...dryRunFlag,
  ...fieldManagerFlag("kubectl-create"),
  ...saveConfigFlag,
  ...validateFlag,
} as const satisfies FlagDeclarations;

export interface GeneratorRequest extends WriteRequest {
  readonly "save-config": boolean;
}

/** Creates one object. `failure` is what its refusal begins with. */
export async function createGenerated(
  session: Session,
  request: GeneratorRequest,
  object: KubeObject,
  failure: string,
): Promise<void> {
  const settings = writeSettings(session, request, "created");
  const placed = withSavedConfig(await inNamespace(session, object), request["save-config"]);
  let created: KubeObject;
  try {
    created = await sendGenerated(session, settings, placed);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new KubectlError(`${failure}${error.message}`, { cause: error });
  }
  printObject(session, settings.printer, created);
}

/** The namespace stands in the object only if it was asked for. */
export async function inNamespace(session: Session, object: KubeObject): Promise<KubeObject> {
  if (!generatedMapping(object).isNamespaced || !(await session.isNamespaceEnforced())) return object;
  return { ...object, metadata: { ...metadataOf(object), namespace: await session.namespace() } };
}

/** The object as the server stored it; in a dry run of the client, as it would have been sent. */
export async function sendGenerated(
  session: Session,
  settings: WriteSettings,
  object: KubeObject,
): Promise<KubeObject> {
  if (settings.dryRun === "client") return object;
  const mapping = generatedMapping(object);
  const info = {
    mapping,
    namespace: mapping.isNamespaced ? await session.namespace() : "",
    name: stringIn(metadataOf(object).name),
    source: "",
    object,
    subresource: "",
  };
  return createInfo(await session.client(), info, settings.options);
}
