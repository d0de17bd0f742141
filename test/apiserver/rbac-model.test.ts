// RBAC as clients meet it: generated policies are written through the API, requests are made by those they are about, and the
// answers are compared with an evaluator that spells out, one by one, everything that a policy allows.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type TestServer, testServer } from "#apiserver/testing.ts";

const policies = 300;
const namespaces = ["a", "b"];
const objects = ["web", "db"];
const rbac = "/apis/rbac.authorization.k8s.io/v1";

const people = {
  ann: { name: "ann", groups: ["devs", "system:authenticated"] },
  bob: { name: "bob", groups: ["ops", "devs", "system:authenticated"] },
  robot: {
    name: "system:serviceaccount:a:robot",
    groups: ["system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated"],
  },
};
type Person = keyof typeof people;

interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}
interface Subject {
  readonly kind: "User" | "Group" | "ServiceAccount";
  readonly name: string;
  readonly namespace?: string;
}
interface Grant {
  /** Where it is bound; the whole cluster if undefined. */
  readonly namespace: string | undefined;
  /** Whether the rules are in a Role of that namespace or in a ClusterRole. */
  readonly isOwn: boolean;
  readonly rules: readonly Rule[];
  readonly subjects: readonly Subject[];
}

/** A request, and the words in which it is judged. */
interface Asked {
  readonly who: Person;
  readonly method: string;
  readonly url: string;
  readonly verb: string;
  readonly path?: string;
  readonly group?: string;
  /** With its subresource behind a slash. */
  readonly resource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

// The evaluator: all that is said is written out, and a request is allowed if it is among it.

const verbs = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
const groups = ["", "apps"];
const resources = ["configmaps", "secrets", "deployments", "deployments/scale", "pods/log", "pods"];
const paths = ["/healthz", "/healthz/ping", "/version", "/livez"];
const everything = (list: readonly string[], all: readonly string[]) => (list.includes("*") ? all : list);

function* allowedBy({ namespace, rules, subjects }: Grant): Generator<string> {
  const names = subjects.flatMap((subject) => {
    if (subject.kind === "User") return Object.values(people).filter(({ name }) => name === subject.name);
    if (subject.kind === "Group") return Object.values(people).filter((one) => one.groups.includes(subject.name));
    const name = `system:serviceaccount:${subject.namespace}:${subject.name}`;
    return Object.values(people).filter((one) => one.name === name);
  });
  for (const { name: user } of names)
    for (const rule of rules)
      for (const verb of everything(rule.verbs, verbs)) {
        if (namespace === undefined)
          for (const path of paths)
            for (const url of rule.nonResourceURLs ?? [])
              if (url === path || (url.endsWith("*") && path.startsWith(url.slice(0, -1))))
                yield `${user} ${verb} ${path}`;
        for (const group of everything(rule.apiGroups ?? [], groups))
          for (const said of rule.resources ?? [])
            for (const resource of resources) {
              const [, subresource] = resource.split("/");
              if (said !== "*" && said !== resource && said !== `*/${subresource}`) continue;
              for (const where of namespace === undefined ? ["", ...namespaces] : [namespace])
                for (const name of rule.resourceNames?.length ? rule.resourceNames : ["", ...objects, "new"])
                  yield `${user} ${verb} ${group}/${resource} ${where}/${name}`;
            }
      }
}

function isAllowed(
  grants: readonly Grant[],
  { who, verb, path, group, resource, namespace = "", name = "" }: Asked,
): boolean {
  const user = people[who].name;
  const wanted =
    path === undefined ? `${user} ${verb} ${group}/${resource} ${namespace}/${name}` : `${user} ${verb} ${path}`;
  return grants.some((grant) => new Set(allowedBy(grant)).has(wanted));
}

// What is generated.

const some = (...words: readonly string[]) => fc.uniqueArray(fc.constantFrom(...words), { minLength: 1, maxLength: 3 });
/** A star often enough that much is allowed. */
const someOrAll = (...words: readonly string[]) => fc.oneof(fc.constant(["*"]), some(...words));
const aRule: fc.Arbitrary<Rule> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      verbs: someOrAll(...verbs),
      apiGroups: someOrAll(...groups),
      resources: someOrAll(...resources, "*/scale"),
      resourceNames: fc.oneof(fc.constant([]), some(...objects)),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ verbs: some("get", "*"), nonResourceURLs: some("/healthz", "/healthz/*", "/ver*", "*") }),
  },
);
const aSubject: fc.Arbitrary<Subject> = fc.oneof(
  fc.record({ kind: fc.constant("User" as const), name: fc.constantFrom("ann", "bob", "eve", people.robot.name) }),
  fc.record({ kind: fc.constant("Group" as const), name: fc.constantFrom("devs", "ops", "system:serviceaccounts:a") }),
  fc.record({
    kind: fc.constant("ServiceAccount" as const),
    name: fc.constantFrom("robot", "other"),
    namespace: fc.constantFrom(...namespaces),
  }),
);
const aGrant: fc.Arbitrary<Grant> = fc
  .record({
    namespace: fc.constantFrom(undefined, ...namespaces),
    isOwn: fc.boolean(),
    rules: fc.array(aRule, { minLength: 1, maxLength: 3 }),
    subjects: fc.array(aSubject, { minLength: 1, maxLength: 3 }),
  })
  // A role of a namespace knows no paths, and what is bound everywhere is no role of a namespace.
  .map((grant) => {
    const isOwn = grant.isOwn && grant.namespace !== undefined;
    return { ...grant, isOwn, rules: isOwn ? grant.rules.filter((rule) => !rule.nonResourceURLs) : grant.rules };
  });

const who = fc.constantFrom<Person>("ann", "bob", "robot");
const kinds = [
  { group: "", base: "/api/v1", plural: "configmaps" },
  { group: "", base: "/api/v1", plural: "secrets" },
  { group: "apps", base: "/apis/apps/v1", plural: "deployments" },
];
const onObjects: Readonly<Record<string, string>> = { get: "GET", update: "PUT", patch: "PATCH", delete: "DELETE" };
const onLists: Readonly<Record<string, string>> = { list: "GET", create: "POST", deletecollection: "DELETE" };
const aRequest: fc.Arbitrary<Asked> = fc.oneof(
  {
    weight: 1,
    arbitrary: fc
      .record({ who, path: fc.constantFrom(...paths) })
      .map(({ path, ...of }) => ({ ...of, verb: "get", method: "GET", url: path, path })),
  },
  {
    weight: 6,
    arbitrary: fc
      .record({
        who,
        kind: fc.constantFrom(...kinds),
        namespace: fc.constantFrom(...namespaces),
        name: fc.constantFrom(...objects),
        verb: fc.constantFrom(...Object.keys(onObjects), ...Object.keys(onLists)),
        isScale: fc.boolean(),
        isEverywhere: fc.boolean(),
      })
      .map((one): Asked => {
        const { kind, verb, namespace, name } = one;
        const [group, base] = [kind.group, kind.base];
        const of = { who: one.who, verb, group };
        const within = `${base}/namespaces/${namespace}/${kind.plural}`;
        const method = onObjects[verb];
        if (method !== undefined) {
          const isScale = one.isScale && kind.plural === "deployments" && verb !== "delete";
          const resource = isScale ? "deployments/scale" : kind.plural;
          return { ...of, namespace, name, resource, method, url: `${within}/${name}${isScale ? "/scale" : ""}` };
        }
        const resource = kind.plural;
        if (verb === "list" && one.isEverywhere)
          return { ...of, resource, method: "GET", url: `${base}/${kind.plural}` };
        return { ...of, namespace, resource, method: onLists[verb] ?? "GET", url: within };
      }),
  },
);

async function write(server: TestServer, grants: readonly Grant[]): Promise<void> {
  for (const [i, { namespace, isOwn, rules, subjects }] of grants.entries()) {
    const name = `g${i}`;
    const place = `${rbac}/namespaces/${namespace}`;
    const role = await server.call("POST", isOwn ? `${place}/roles` : `${rbac}/clusterroles`, {
      metadata: { name },
      rules,
    });
    assert.equal(role.code, 201, role.text);
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: isOwn ? "Role" : "ClusterRole", name };
    const to = subjects.map((one) => (one.kind === "ServiceAccount" ? one : { ...one, apiGroup: roleRef.apiGroup }));
    const path = namespace === undefined ? `${rbac}/clusterrolebindings` : `${place}/rolebindings`;
    const binding = await server.call("POST", path, { metadata: { name }, roleRef, subjects: to });
    assert.equal(binding.code, 201, binding.text);
  }
}

async function clear(server: TestServer): Promise<void> {
  const within = namespaces.flatMap((one) => [`namespaces/${one}/roles`, `namespaces/${one}/rolebindings`]);
  for (const path of ["clusterroles", "clusterrolebindings", ...within])
    assert.equal((await server.call("DELETE", `${rbac}/${path}`)).code, 200);
}

const bodies: Readonly<Record<string, unknown>> = {
  POST: { metadata: { name: "new" } },
  PUT: { metadata: {} },
  PATCH: {},
};

test(`${policies} generated policies decide what requests are answered, as a plain evaluator says`, async () => {
  await using server = await testServer({ users: people, authorizers: ({ rbac: one }) => [one] });
  let [allowed, refused] = [0, 0];
  await fc.assert(
    fc.asyncProperty(
      fc.array(aGrant, { minLength: 1, maxLength: 3 }),
      fc.array(aRequest, { minLength: 6, maxLength: 6 }),
      async (grants, requests) => {
        await write(server, grants);
        try {
          for (const asked of requests) {
            const headers = { authorization: `Bearer ${asked.who}`, "content-type": "application/json" };
            if (asked.method === "PATCH") headers["content-type"] = "application/merge-patch+json";
            const { code, text } = await server.call(asked.method, asked.url, bodies[asked.method], headers);
            const expected = isAllowed(grants, asked);
            assert.equal(code !== 403, expected, `${asked.who} ${asked.method} ${asked.url}: ${code} ${text}`);
            if (expected) allowed++;
            else {
              refused++;
              const { name } = people[asked.who];
              const what = asked.path === undefined ? `resource "${asked.resource}"` : `path "${asked.path}"`;
              assert.match(
                text,
                new RegExp(`User \\\\"${name}\\\\" cannot ${asked.verb} ${what.replaceAll('"', '\\\\"')}`),
              );
            }
          }
        } finally {
          await clear(server);
        }
      },
    ),
    { numRuns: policies, seed: 11 },
  );
  assert.ok(allowed > 200 && refused > 200, `${allowed} allowed, ${refused} refused`);
});
