// Acting as someone else, by the headers Impersonate-User, -Uid, -Group and -Extra-*. Each thing that is taken on must be permitted.
// There are two ways to be permitted: the plain verb `impersonate`, and the narrow `impersonate:MODE` together with
// `impersonate-on:MODE:VERB` for what is then done. The narrow ways are tried first; the refusal is that of the first that applies.
import { ApiError } from "#base/errors.ts";
import { anonymousUser, authenticated, tokenProtocol, unauthenticated, withoutToken } from "#serving/authentication.ts";
import { type Authorize, permit, type Question, refusal } from "#serving/authorization.ts";
import { unescapedKey } from "#serving/request-headers.ts";
import type { User } from "#wire/api-request.ts";
import type { HttpRequest } from "#wire/http.ts";
import { badRequest } from "#wire/status.ts";

const prefix = "impersonate-";
const extraPrefix = "impersonate-extra-";

export interface Actor {
  readonly user: User;
  /** The narrow way by which it was permitted to act as another, as the audit log names it. */
  readonly constraint: string | undefined;
}

/** Who acts in the end: whom the headers name, if the one who asks may act as them, else who asks. Throws ApiError 400 or 403. */
export async function actingUser(http: HttpRequest, question: Question, authorize: Authorize): Promise<Actor> {
  const wanted = wantedUser(http);
  if (!wanted) return { user: question.user, constraint: undefined };
  const modes = modesFor(wanted, question.user);
  const refusals = new Map<Mode, ApiError>();
  for (const mode of nodeNamed(wanted.name) === undefined ? modes : plainFirst(modes)) {
    try {
      const user = await actAs(mode, wanted, question, authorize);
      return { user, constraint: mode.narrow && mode.verb };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      refusals.set(mode, error);
    }
  }
  const [first = plain] = modes;
  throw refusals.get(first) ?? new Error("no way of impersonation applies");
}

/**
 * The narrow ways make a node a member of system:nodes, the plain way gives it only the groups that were asked for. Upstream
 * begins with the way in which the same user succeeded last. Here the plain way is always the first one for nodes, so that the
 * groups do not depend on earlier requests and nobody who may use both ways gets a group that they did not ask for.
 */
const plainFirst = (modes: readonly Mode[]): readonly Mode[] => [plain, ...modes.filter((mode) => mode !== plain)];

/** The request without what was for the door only: credentials and whom to act as. The very same if there was nothing of that. */
export function withoutCredentials(http: HttpRequest): HttpRequest {
  const protocols = http.headers["sec-websocket-protocol"];
  const showsToken = protocols?.includes(tokenProtocol) ?? false;
  const hasAny = http.hasHeaders?.(prefix) ?? Object.keys(http.headers).some((name) => name.startsWith(prefix));
  if (!showsToken && !hasAny && http.headers.authorization === undefined) return http;
  const headers = Object.fromEntries(Object.entries(http.headers).filter(([name]) => !isForDoor(name)));
  if (protocols !== undefined && showsToken) headers["sec-websocket-protocol"] = withoutToken(protocols);
  const { method, path, url, content, clientCertificate, remoteAddress } = http;
  return {
    method,
    path,
    url,
    headers,
    content,
    clientCertificate,
    remoteAddress,
    body: () => http.body(),
    get query() {
      return http.query;
    },
    get signal() {
      return http.signal;
    },
  };
}

const isForDoor = (name: string): boolean => name === "authorization" || name.startsWith(prefix);

function wantedUser(http: HttpRequest): User | undefined {
  const names = Object.keys(http.headers).filter((name) => name.startsWith(prefix));
  if (names.length === 0) return undefined;
  const values = (name: string): readonly string[] =>
    http.headerValues?.(name) ?? (http.headers[name] === undefined ? [] : [http.headers[name]]);
  const extra: Record<string, readonly string[]> = {};
  for (const name of names.filter((one) => one.startsWith(extraPrefix)))
    extra[unescapedKey(name.slice(extraPrefix.length))] = values(name);
  const groups = values("impersonate-group");
  const [name = ""] = values("impersonate-user");
  const [uid = ""] = values("impersonate-uid");
  const hasExtra = Object.keys(extra).length > 0;
  if (name === "") {
    if (uid === "" && groups.length === 0 && !hasExtra) return undefined;
    throw badRequest(`requested ${describe(uid, groups, extra)} without impersonating a user name`);
  }
  return { name, ...(uid && { uid }), groups, ...(hasExtra && { extra }) };
}

/** As upstream prints the user it was asked for. */
function describe(uid: string, groups: readonly string[], extra: User["extra"] = {}): string {
  const list = (type: string, values: readonly string[]) =>
    values.length === 0 ? `${type}(nil)` : `${type}{${values.map((value) => JSON.stringify(value)).join(", ")}}`;
  const entries = Object.entries(extra).map(([key, values]) => `${JSON.stringify(key)}:${list("[]string", values)}`);
  const all = entries.length === 0 ? "map[string][]string(nil)" : `map[string][]string{${entries.join(", ")}}`;
  return `&user.DefaultInfo{Name:"", UID:${JSON.stringify(uid)}, Groups:${list("[]string", groups)}, Extra:${all}}`;
}

interface Mode {
  /** `impersonate`, or `impersonate:MODE` for the narrow ways. */
  readonly verb: string;
  /** Name of a narrow way. */
  readonly narrow?: "associated-node" | "arbitrary-node" | "serviceaccount" | "user-info";
}

const plain: Mode = { verb: "impersonate" };
const narrow = (name: NonNullable<Mode["narrow"]>): Mode => ({ verb: `impersonate:${name}`, narrow: name });

function modesFor(wanted: User, requestor: User): readonly Mode[] {
  const node = nodeNamed(wanted.name);
  const account = accountNamed(wanted.name);
  if (!node && !account) return [narrow("user-info"), plain];
  const isNameOnly = wanted.uid === undefined && wanted.groups.length === 0 && wanted.extra === undefined;
  if (!isNameOnly) return [plain];
  if (account) return [narrow("serviceaccount"), plain];
  const isOwnNode =
    accountNamed(requestor.name) !== undefined &&
    requestor.extra?.["authentication.kubernetes.io/node-name"]?.join() === node;
  return [...(isOwnNode ? [narrow("associated-node")] : []), narrow("arbitrary-node"), plain];
}

const nodeNamed = (name: string): string | undefined => /^system:node:(.+)$/.exec(name)?.[1];

function accountNamed(name: string): { readonly namespace: string; readonly name: string } | undefined {
  const [, namespace, account] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name) ?? [];
  return namespace !== undefined && account !== undefined ? { namespace, name: account } : undefined;
}

async function actAs(mode: Mode, wanted: User, question: Question, authorize: Authorize): Promise<User> {
  const requestor = mode.narrow === "associated-node" ? withoutExtraValues(question.user) : question.user;
  if (mode.narrow)
    await permit(authorize, {
      ...question,
      user: requestor,
      verb: `impersonate-on:${mode.narrow}:${question.verb}`,
    });
  const ask = (resource: string, name: string, more: object = {}): Question => ({
    type: "resource",
    user: requestor,
    verb: mode.verb,
    group: "authentication.k8s.io",
    version: "v1",
    resource,
    name,
    ...more,
  });
  // The plain way is older than the group of authentication, and asks about users and groups in the core group.
  const oldGroup = mode.narrow ? {} : { group: "" };
  const groups = await permittedName(mode, wanted, async (resource, name, more) =>
    permit(authorize, ask(resource, name, { ...oldGroup, ...more })),
  );
  if (wanted.uid) await permit(authorize, ask("uids", wanted.uid));
  if (mode.narrow) refuseUnfit(wanted, ask);
  for (const group of wanted.groups) await permit(authorize, ask("groups", group, oldGroup));
  for (const [key, values] of Object.entries(wanted.extra ?? {}))
    for (const value of values) await permit(authorize, ask("userextras", value, { subresource: key }));
  return { ...wanted, groups: withStanding(wanted.name, groups) };
}

/** Permits the name, and answers the groups that come with it: those of service accounts and of nodes are fixed. */
async function permittedName(
  { narrow: narrowMode }: Mode,
  wanted: User,
  permitted: (resource: string, name: string, more?: object) => Promise<void>,
): Promise<readonly string[]> {
  const account = accountNamed(wanted.name);
  if (account) {
    await permitted("serviceaccounts", account.name, { namespace: account.namespace });
    if (wanted.groups.length > 0) return wanted.groups;
    return ["system:serviceaccounts", `system:serviceaccounts:${account.namespace}`];
  }
  const node = narrowMode ? nodeNamed(wanted.name) : undefined;
  if (node) {
    await permitted("nodes", narrowMode === "associated-node" ? "*" : node);
    return ["system:nodes"];
  }
  await permitted("users", wanted.name);
  return wanted.groups;
}

/** What the narrow ways never allow. */
function refuseUnfit({ groups, extra = {} }: User, ask: (resource: string, name: string) => Question): void {
  if (groups.includes("")) throw refusal(ask("groups", ""), "impersonating the empty string group is not allowed");
  if (groups.includes("system:masters"))
    throw refusal(ask("groups", "system:masters"), "impersonating the system:masters group is not allowed");
  for (const [key, values] of Object.entries(extra)) {
    const why =
      key === ""
        ? "impersonating the empty string key in extra is not allowed"
        : !/^[a-z0-9.-]+\/[^\s]+$/.test(key)
          ? `impersonating an invalid key in extra is not allowed: extra.key: Invalid value: ${JSON.stringify(key)}: must be a domain-prefixed path (such as "acme.io/foo")`
          : values.includes("")
            ? "impersonating the empty string value in extra is not allowed"
            : undefined;
    if (why !== undefined) throw refusal(ask("userextras", ""), why);
  }
}

/** Whoever is impersonated is either known to the server or not. */
function withStanding(name: string, groups: readonly string[]): readonly string[] {
  if (groups.includes(unauthenticated)) return groups;
  if (name === anonymousUser.name) return [...groups, unauthenticated];
  return groups.includes(authenticated) ? groups : [...groups, authenticated];
}

/** That the account runs on the node has been seen; which pod it is in must not matter any more. */
const withoutExtraValues = ({ extra = {}, ...user }: User): User => ({
  ...user,
  extra: { "authentication.kubernetes.io/associated-node-keys": Object.keys(extra).sort() },
});
