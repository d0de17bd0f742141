// Upstream: kubectl/pkg/cmd/auth/cani.go.
import { isObject } from "#base/is-object.ts";
import { command } from "../../command.ts";
import { ExitError, KubectlError } from "../../errors.ts";
import { stringIn } from "../../resources/resource-info.ts";
import type { KubeObject } from "../../rest/client.ts";
import type { Session } from "../../session.ts";
import { tableText } from "../../tab-writer.ts";

const reviewGroup = "/apis/authorization.k8s.io/v1";

export const canI = command({
  use: "can-i VERB [TYPE | TYPE/NAME | NONRESOURCEURL]",
  long: "Check whether an action is allowed. VERB is a verb of the API such as get, list, watch or delete; TYPE a resource, with its group or without.",
  examples: `# May I create pods?
kubectl auth can-i create pods

# What may I do in a namespace?
kubectl auth can-i --list --namespace=team`,
  flags: {
    "all-namespaces": { type: "bool", short: "A", help: "In all namespaces." },
    list: { type: "bool", help: "Everything that is allowed." },
    "no-headers": { type: "bool", help: "Leave out the headers." },
    quiet: { type: "bool", short: "q", help: "Print nothing; only the exit code says it." },
    subresource: { type: "string", help: "The part of the resource, such as pod/log." },
  },
  async run(session, args, flags) {
    const namespace = flags["all-namespaces"] ? "" : await session.namespace();
    if (flags.list) {
      if (args.length > 0) throw new KubectlError("list option must be specified with no arguments");
      return listRules(session, namespace, flags["no-headers"]);
    }
    const [verb, what = ""] = args;
    if (verb === undefined || args.length !== 2) {
      throw new KubectlError(
        "you must specify two arguments: verb resource or verb resource/resourceName.\nSee 'kubectl auth can-i -h' for help and examples.",
      );
    }
    const spec = what.startsWith("/")
      ? { nonResourceAttributes: { path: what, verb } }
      : { resourceAttributes: await attributes(session, verb, what, namespace, flags.subresource) };
    const review = {
      kind: "SelfSubjectAccessReview",
      apiVersion: "authorization.k8s.io/v1",
      metadata: {},
      spec,
      status: { allowed: false },
    };
    const { status } = await post(session, "selfsubjectaccessreviews", review);
    const { allowed, reason, evaluationError } = isObject(status) ? status : {};
    const isAllowed = allowed === true;
    if (!flags.quiet) {
      const because = stringIn(reason) === "" ? "" : ` - ${reason}`;
      const trouble = stringIn(evaluationError) === "" ? "" : ` - ${evaluationError}`;
      session.print(isAllowed ? "yes" : `no${because}${trouble}`);
    }
    if (!isAllowed) throw new ExitError(1);
  },
});

const post = async (session: Session, resource: string, body: object): Promise<KubeObject> =>
  (await session.client()).json({
    method: "POST",
    path: `${reviewGroup}/${resource}`,
    body: JSON.stringify(body),
    contentType: "application/json",
  });

/** Verbs that the API knows; others are allowed to be asked for, with a warning. */
const knownVerbs = [
  "get",
  "list",
  "watch",
  "create",
  "update",
  "patch",
  "delete",
  "deletecollection",
  "use",
  "bind",
  "impersonate",
  "*",
  "approve",
  "sign",
  "escalate",
  "attest",
];

async function attributes(
  session: Session,
  verb: string,
  what: string,
  namespace: string,
  subresource: string,
): Promise<KubeObject> {
  const [type = "", ...rest] = what.split("/");
  if (rest.length > 1)
    throw new KubectlError("you must specify two arguments: verb resource or verb resource/resourceName.");
  if (!knownVerbs.includes(verb)) session.printError(`Warning: verb '${verb}' is not a known verb\n`);
  const resolved = await resolve(session, type);
  const isIn = resolved.isNamespaced;
  if (!isIn && namespace !== "" && type !== "*")
    session.printError(
      `Warning: resource '${resolved.resource}' is not namespace scoped${resolved.group === "" ? "" : ` in group '${resolved.group}'`}\n`,
    );
  return {
    ...(namespace !== "" && { namespace }),
    verb,
    ...(resolved.group !== "" && { group: resolved.group }),
    ...(resolved.version && { version: resolved.version }),
    resource: resolved.resource,
    ...(subresource !== "" && { subresource }),
    ...(rest[0] !== undefined && { name: rest[0] }),
  };
}

interface AskedResource {
  readonly resource: string;
  readonly group: string;
  readonly version?: string;
  readonly isNamespaced: boolean;
}

/** What the server does not know may be asked for all the same. */
async function resolve(session: Session, type: string): Promise<AskedResource> {
  if (type === "*") return { resource: "*", group: "", isNamespaced: true };
  try {
    const { resource, group, isNamespaced } = await (await session.mapper()).mappingFor(type);
    return { resource, group, isNamespaced };
  } catch (error) {
    if (!(error instanceof KubectlError)) throw error;
    const at = type.indexOf(".");
    const [resource, group] = at < 0 ? [type, ""] : [type.slice(0, at), type.slice(at + 1)];
    session.printError(
      group === ""
        ? `Warning: the server doesn't have a resource type '${resource}'\n`
        : `Warning: the server doesn't have a resource type '${resource}' in group '${group}'\n`,
    );
    return { resource: type, group: "", isNamespaced: true };
  }
}

async function listRules(session: Session, namespace: string, isHeadless: boolean): Promise<void> {
  const review = {
    kind: "SelfSubjectRulesReview",
    apiVersion: "authorization.k8s.io/v1",
    metadata: {},
    spec: { namespace },
    status: { resourceRules: null, nonResourceRules: null, incomplete: false },
  };
  const { status } = await post(session, "selfsubjectrulesreviews", review);
  const { resourceRules, nonResourceRules, evaluationError, incomplete } = isObject(status) ? status : {};
  const rules = compacted(
    [resourceRules, nonResourceRules].flatMap((list) => (Array.isArray(list) ? list.filter(isObject) : [])),
  );
  const shown = (list: readonly string[]) => `[${list.join(" ")}]`;
  const rows = rules.map((rule) => [rule.resource, shown(rule.paths), shown(rule.names), shown(rule.verbs)]);
  if (incomplete === true) session.printError(`warning: the list may be incomplete: ${stringIn(evaluationError)}`);
  session.io.stdout.write(
    tableText(isHeadless ? rows : [["Resources", "Non-Resource URLs", "Resource Names", "Verbs"], ...rows]),
  );
}

interface PrintedRule {
  readonly resource: string;
  readonly paths: readonly string[];
  readonly names: readonly string[];
  verbs: readonly string[];
}

/** One row for each resource, name and path; the verbs of several rules are put together. Sorted as upstream's rules are as text. */
function compacted(rules: readonly Readonly<Record<string, unknown>>[]): readonly PrintedRule[] {
  const texts = (value: unknown) => (Array.isArray(value) ? value.map(String) : []);
  const rows = new Map<string, PrintedRule>();
  for (const rule of rules) {
    const verbs = texts(rule.verbs);
    const add = (resource: string, key: string, paths: readonly string[], names: readonly string[]) => {
      const known = rows.get(key);
      if (known) known.verbs = [...new Set([...known.verbs, ...verbs])];
      else rows.set(key, { resource, paths, names, verbs });
    };
    // Paths are not put together: as upstream does it.
    for (const path of texts(rule.nonResourceURLs))
      add("", `APIGroups:[],Resources:[],ResourceNames:[],NonResourceURLs:[${path}],${rows.size}`, [path], []);
    const names = texts(rule.resourceNames);
    for (const group of texts(rule.apiGroups))
      for (const name of texts(rule.resources))
        for (const one of names.length === 0 ? [undefined] : names) {
          const key = `APIGroups:[${group}],Resources:[${name}],ResourceNames:[${one ?? ""}],NonResourceURLs:[],`;
          add(group === "" ? name : `${name}.${group}`, key, [], one === undefined ? [] : [one]);
        }
  }
  const sorted = [...rows].map(([key, row]) => ({ key: `Verbs:[${row.verbs.join(" ")}],${key}`, row }));
  return sorted.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ row }) => row);
}
