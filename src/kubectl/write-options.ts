// What commands that write have in common: dry runs, who is noted as the writer, validation by the server, and what is printed
// (upstream: kubectl/pkg/cmd/util/helpers.go).
import { KubectlError } from "./errors.ts";
import { type FlagDeclarations, parseBool } from "./flags.ts";
import { goJson } from "./go/json.ts";
import { type OutputRequest, outputPrinter, printFlags } from "./printers/output.ts";
import type { ObjectPrinter } from "./printers/printer.ts";
import { metadataOf, type ResourceWriteOptions } from "./resources/resource-info.ts";
import type { KubeObject } from "./rest/client.ts";
import type { Session } from "./session.ts";

export type DryRun = "none" | "client" | "server";

export const dryRunFlag = {
  "dry-run": {
    type: "string",
    default: "none",
    withoutValue: "unchanged",
    help: 'Must be "none", "server" or "client": client prints what would be sent, server sends it without storing it.',
  },
} as const satisfies FlagDeclarations;

export const validateFlag = {
  validate: {
    type: "string",
    default: "strict",
    withoutValue: "strict",
    help: "What to do about unknown and duplicate fields: strict (or true), warn, or ignore (or false).",
  },
} as const satisfies FlagDeclarations;

export const fieldManagerFlag = <const Name extends string>(name: Name) =>
  ({
    "field-manager": { type: "string", default: name, help: "Name of the manager that fields are noted for." },
  }) as const satisfies FlagDeclarations;

export const filenameFlags = {
  filename: {
    type: "stringSlice",
    short: "f",
    help: "File, folder or address of manifests; - for the standard input.",
  },
  kustomize: { type: "string", short: "k", help: "Folder of a kustomization." },
  recursive: { type: "bool", short: "R", help: "Look into the folders in the folders that -f names." },
} as const satisfies FlagDeclarations;

export const recordFlag = {
  record: {
    type: "bool",
    help: "Note the command in the annotation kubernetes.io/change-cause.",
    deprecated: "--record will be removed in the future",
  },
} as const satisfies FlagDeclarations;

export const saveConfigFlag = {
  "save-config": { type: "bool", help: "Note the configuration in the annotation that apply reads." },
} as const satisfies FlagDeclarations;

/** What `--dry-run` says. Throws KubectlError. */
export function dryRunOf(session: Session, text: string): DryRun {
  if (text === "none" || text === "client" || text === "server") return text;
  if (text === "unchanged") {
    session.warn("--dry-run is deprecated and can be replaced with --dry-run=client.");
    return "client";
  }
  let isDry: boolean;
  try {
    isDry = parseBool(text);
  } catch {
    throw new KubectlError(`Invalid dry-run value (${text}). Must be "none", "server", or "client".`);
  }
  return isDry ? "client" : "none";
}

/** What the line says that a command prints: `created (dry run)`. */
export const operationText = (operation: string, dryRun: DryRun): string =>
  dryRun === "none" ? operation : `${operation} (${dryRun === "server" ? "server dry run" : "dry run"})`;

/** What `--validate` says, in the words of the server. Throws KubectlError. */
export function fieldValidationOf(text: string): "Strict" | "Warn" | "Ignore" {
  switch (text) {
    case "true":
    case "strict":
      return "Strict";
    case "warn":
      return "Warn";
    case "false":
    case "ignore":
      return "Ignore";
    default:
      throw new KubectlError(
        `invalid - validate option ${JSON.stringify(text)}; must be one of: strict (or true), warn, ignore (or false)`,
      );
  }
}

export const writtenFlags = { ...printFlags, ...dryRunFlag } as const satisfies FlagDeclarations;

export interface WriteRequest extends OutputRequest {
  readonly "dry-run": string;
  readonly "field-manager"?: string;
  readonly validate?: string;
}

/** The settings of one command that writes. */
export interface WriteSettings {
  readonly dryRun: DryRun;
  readonly options: ResourceWriteOptions;
  readonly printer: ObjectPrinter;
}

/** Throws KubectlError for flags that make no sense. */
export function writeSettings(session: Session, request: WriteRequest, operation: string): WriteSettings {
  const dryRun = dryRunOf(session, request["dry-run"]);
  const manager = request["field-manager"];
  return {
    dryRun,
    options: {
      isDryRun: dryRun === "server",
      ...(manager !== undefined && { fieldManager: manager }),
      ...(request.validate !== undefined && { fieldValidation: fieldValidationOf(request.validate) }),
    },
    printer: outputPrinter(request, { operation: operationText(operation, dryRun), cwd: session.io.cwd }),
  };
}

export const printObject = (session: Session, printer: ObjectPrinter, object: KubeObject): void =>
  printer.print(object, (data) => session.io.stdout.write(data));

export const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";
export const changeCauseAnnotation = "kubernetes.io/change-cause";

/** The object with an annotation more. */
export function annotated(object: KubeObject, name: string, value: string): KubeObject {
  const metadata = metadataOf(object);
  const annotations = (metadata.annotations ?? {}) as Readonly<Record<string, string>>;
  return { ...object, metadata: { ...metadata, annotations: { ...annotations, [name]: value } } };
}

/** The object as apply notes it: without the note itself. */
export function appliedConfiguration(object: KubeObject): string {
  const { annotations = {}, ...metadata } = metadataOf(object) as { annotations?: Readonly<Record<string, string>> };
  const { [lastAppliedAnnotation]: _, ...others } = annotations;
  return `${goJson({ ...object, metadata: { ...metadata, annotations: others } })}\n`;
}

/** With `--save-config`, and where apply wrote it before, the configuration is noted. */
export const withSavedConfig = (object: KubeObject, isWanted: boolean): KubeObject =>
  isWanted ? annotated(object, lastAppliedAnnotation, appliedConfiguration(object)) : object;
