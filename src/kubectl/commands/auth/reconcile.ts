// Upstream: kubectl/pkg/cmd/auth/reconcile.go, component-helpers/auth/rbac/reconciliation.
import { isDeepStrictEqual } from "node:util";
import { ApiError, isConflict, isNotFound } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import { command } from "../../command.ts";
import { KubectlError } from "../../errors.ts";
import { printFlags } from "../../printers/output.ts";
import {
  createInfo,
  deleteInfo,
  metadataOf,
  type ResourceInfo,
  replaceInfo,
  stringIn,
} from "../../resources/resource-info.ts";
import { ResourceQuery } from "../../resources/resource-query.ts";
import type { KubeObject } from "../../rest/client.ts";
import type { Session } from "../../session.ts";
import { dryRunFlag, dryRunOf, filenameFlags, printObject, writeSettings } from "../../write-options.ts";
import { type AccessRule, missingRules, ruleText } from "./rules.ts";

const group = "rbac.authorization.k8s.io";
const plurals: Readonly<Record<string, string>> = {
  Role: "roles",
  ClusterRole: "clusterroles",
  RoleBinding: "rolebindings",
  ClusterRoleBinding: "clusterrolebindings",
};
const attempts = 3;

export const reconcile = command({
  use: "reconcile -f FILENAME",
  long: "Give roles the rules, and role bindings the subjects, that manifests say. What they have besides stays, unless a flag says that it goes. A binding to another role is made anew.",
  examples: `  # Roles and bindings of a file
  kubectl auth reconcile -f rbac.yaml`,
  flags: {
    ...printFlags,
    ...dryRunFlag,
    ...filenameFlags,
    "remove-extra-permissions": { type: "bool", help: "Rules that are not in the manifests go." },
    "remove-extra-subjects": { type: "bool", help: "Subjects that are not in the manifests go." },
  },
  run: async (session, args, flags) => {
    if (args.length > 0) throw new KubectlError("no arguments are allowed");
    if (flags.filename.length === 0 && flags.kustomize === "") throw new KubectlError("must specify one of -f and -k");
    const dryRun = dryRunOf(session, flags["dry-run"]);
    if (dryRun === "server") throw new KubectlError("--dry-run=server for command reconcile is not supported yet");
    const { printer } = writeSettings(session, { ...flags, "dry-run": dryRun }, "reconciled");
    const query = await ResourceQuery.of(session, {
      filenames: flags.filename,
      isRecursive: flags.recursive,
      kustomize: flags.kustomize,
      continueOnError: true,
      flatten: true,
      isLocal: true,
    });
    await query.visit(async ({ object = {} }) => {
      const resource = plurals[stringIn(object.kind)];
      if (resource === undefined || !stringIn(object.apiVersion).startsWith(`${group}/`)) return;
      if (object.apiVersion !== `${group}/v1`)
        throw new KubectlError(`only rbac.authorization.k8s.io/v1 is supported: not ${stringIn(object.apiVersion)}`);
      const info = await placed(session, object, resource);
      const result = await reconciled(session, info, {
        isDry: dryRun === "client",
        removesRules: flags["remove-extra-permissions"],
        removesSubjects: flags["remove-extra-subjects"],
      });
      printObject(session, printer, result.object);
      for (const line of result.notes) session.printError(line);
    });
  },
});

async function placed(session: Session, object: KubeObject, resource: string): Promise<ResourceInfo> {
  const kind = stringIn(object.kind);
  const isNamespaced = !kind.startsWith("Cluster");
  const { name, namespace } = metadataOf(object);
  const at = isNamespaced ? stringIn(namespace) || (await session.namespace()) : "";
  return {
    mapping: { group, version: "v1", resource, singular: kind.toLowerCase(), kind, isNamespaced, verbs: [] },
    name: stringIn(name),
    namespace: at,
    source: "",
    object: isNamespaced ? { ...object, metadata: { ...metadataOf(object), namespace: at } } : object,
    subresource: "",
  };
}

interface ReconcileOptions {
  readonly isDry: boolean;
  readonly removesRules: boolean;
  readonly removesSubjects: boolean;
}

interface Reconciliation {
  readonly object: KubeObject;
  /** What is told besides. */
  readonly notes: readonly string[];
}

async function reconciled(session: Session, info: ResourceInfo, options: ReconcileOptions): Promise<Reconciliation> {
  for (let attempt = 1; ; attempt++)
    try {
      return await reconcileOnce(session, info, options);
    } catch (error) {
      if (!isConflict(error) || attempt >= attempts) throw error;
    }
}

async function reconcileOnce(session: Session, info: ResourceInfo, options: ReconcileOptions): Promise<Reconciliation> {
  const client = await session.client();
  const wanted = info.object ?? {};
  const current = await client
    .json({ path: `/apis/${group}/v1/${place(info)}/${info.name}` })
    .catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
  const isBinding = info.mapping?.kind.endsWith("Binding") === true;
  if (!current) {
    const notes = ["\treconciliation required create", ...additions(isBinding, listIn(wanted, isBinding))];
    if (options.isDry) return { object: wanted, notes };
    await makeNamespace(session, info.namespace);
    return { object: await createInfo(client, info, {}), notes };
  }
  if (isBinding && !isDeepStrictEqual(withGroup(current.roleRef), withGroup(wanted.roleRef))) {
    const notes = ["\treconciliation required recreate"];
    if (options.isDry) return { object: wanted, notes };
    await deleteInfo(client, info, { preconditions: { uid: metadataOf(current).uid } });
    await makeNamespace(session, info.namespace);
    return { object: await createInfo(client, info, {}), notes };
  }
  const { object, notes } = merged(current, wanted, isBinding, options);
  if (notes.length === 0 || options.isDry) return { object, notes };
  return { object: await replaceInfo(client, { ...info, object }, {}), notes };
}

const place = ({ mapping, namespace }: ResourceInfo): string =>
  `${namespace === "" ? "" : `namespaces/${namespace}/`}${mapping?.resource}`;

/** A role may come before its namespace. */
async function makeNamespace(session: Session, name: string): Promise<void> {
  if (name === "") return;
  const client = await session.client();
  const body = JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  try {
    await client.json({ path: `/api/v1/namespaces/${name}` });
    return;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  try {
    await client.json({ method: "POST", path: "/api/v1/namespaces", body, contentType: "application/json" });
  } catch (error) {
    if (!(error instanceof ApiError) || !["AlreadyExists", "Forbidden"].includes(error.reason)) throw error;
  }
}

const withGroup = (value: unknown): unknown => (isObject(value) ? { apiGroup: group, ...value } : value);
const listIn = (object: KubeObject, isBinding: boolean): readonly AccessRule[] => {
  const value = isBinding ? object.subjects : object.rules;
  return Array.isArray(value) ? value.filter(isObject) : [];
};

function merged(
  current: KubeObject,
  wanted: KubeObject,
  isBinding: boolean,
  options: ReconcileOptions,
): Reconciliation {
  const [have, want] = [listIn(current, isBinding), listIn(wanted, isBinding)];
  const lacking = isBinding
    ? want.filter((one) => !have.some((other) => isSameSubject(one, other)))
    : missingRules(have, want);
  const extra = isBinding
    ? have.filter((one) => !want.some((other) => isSameSubject(one, other)))
    : missingRules(want, have);
  const removes = isBinding ? options.removesSubjects : options.removesRules;
  const notes = [...additions(isBinding, lacking)];
  if (removes && extra.length > 0)
    notes.push(
      `\textra ${isBinding ? "subjects" : "rules"} removed:`,
      ...extra.map((one) => `\t\t${ruleText(one, isBinding)}`),
    );
  const tags = mergedTags(current, wanted);
  const isSame = notes.length === 0 && !tags.isChanged;
  if (isSame) return { object: current, notes: [] };
  const list = removes && extra.length > 0 ? want : [...have, ...lacking];
  const object = { ...current, metadata: tags.metadata, [isBinding ? "subjects" : "rules"]: list };
  return { object, notes: ["\treconciliation required update", ...notes] };
}

const additions = (isBinding: boolean, lacking: readonly AccessRule[]): readonly string[] =>
  lacking.length === 0
    ? []
    : [
        `\tmissing ${isBinding ? "subjects" : "rules"} added:`,
        ...lacking.map((one) => `\t\t${ruleText(one, isBinding)}`),
      ];

function isSameSubject(a: AccessRule, b: AccessRule): boolean {
  const full = (one: AccessRule) => [
    one.kind,
    one.name,
    one.namespace ?? "",
    one.apiGroup ?? (one.kind === "ServiceAccount" ? "" : group),
  ];
  return isDeepStrictEqual(full(a), full(b));
}

/** Labels and annotations of the manifest are added. */
function mergedTags(
  current: KubeObject,
  wanted: KubeObject,
): { readonly metadata: object; readonly isChanged: boolean } {
  const metadata: Record<string, unknown> = { ...metadataOf(current) };
  let isChanged = false;
  for (const field of ["labels", "annotations"]) {
    const [have, want] = [metadataOf(current)[field], metadataOf(wanted)[field]];
    if (!isObject(want)) continue;
    const both = { ...(isObject(have) ? have : {}), ...want };
    if (isDeepStrictEqual(both, isObject(have) ? have : {})) continue;
    metadata[field] = both;
    isChanged = true;
  }
  return { metadata, isChanged };
}
