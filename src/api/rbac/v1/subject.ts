import { equal } from "#base/collections.ts";
import { dns1123Subdomain, pathSegment } from "#schema/formats.ts";
import { type Column, type Infer, invalid, notSupported, type Problem, string, struct } from "#schema/index.ts";

const group = "rbac.authorization.k8s.io";

export const RoleRef = struct(
  "rbac/v1.RoleRef",
  {
    apiGroup: string(1, "Group of the role.").always().default(group),
    kind: string(2, "Role or ClusterRole.").required(),
    name: string(3, "Name of the role.").nonEmpty().is(pathSegment).required(),
  },
  { atomic: true },
);
export interface RoleRef extends Infer<typeof RoleRef> {}

export const Subject = struct(
  "rbac/v1.Subject",
  {
    kind: string(1, "User, Group or ServiceAccount.").required(),
    apiGroup: string(2, "Group of the subject; none for service accounts."),
    name: string(3, "Name of the subject.").nonEmpty().required(),
    namespace: string(4, "Namespace of a service account."),
  },
  {
    atomic: true,
    complete(subject) {
      if (subject.kind === "User" || subject.kind === "Group") subject.apiGroup ||= group;
    },
    *check({ kind, name, apiGroup = "" }) {
      if (kind === "ServiceAccount") {
        for (const detail of name === "" ? [] : dns1123Subdomain(name)) yield invalid("name", detail);
        if (apiGroup !== "") yield notSupported("apiGroup", [""]);
      } else if (kind === "User" || kind === "Group") {
        if (apiGroup !== group) yield notSupported("apiGroup", [group], apiGroup);
      } else yield notSupported("kind", ["ServiceAccount", "User", "Group"]);
    },
  },
);
export interface Subject extends Infer<typeof Subject> {}

interface Binding {
  readonly subjects?: readonly Subject[] | undefined;
  readonly roleRef: RoleRef;
}

/** A binding is to a role of one of these kinds, and stays with it. */
export function* checkBinding(
  { roleRef }: Binding,
  old: Binding | undefined,
  kinds: readonly string[],
): Iterable<Problem> {
  if (roleRef.apiGroup !== group) yield notSupported("roleRef.apiGroup", [group]);
  if (!kinds.includes(roleRef.kind)) yield notSupported("roleRef.kind", kinds);
  if (old && !equal(roleRef, old.roleRef)) yield invalid("roleRef", "cannot change roleRef");
}

const namesOf = (subjects: readonly Subject[] = [], kind: string): string =>
  subjects
    .filter((subject) => subject.kind === kind)
    .map(({ name, namespace }) => (namespace && kind === "ServiceAccount" ? `${namespace}/${name}` : name))
    .join(", ");

export const subjectColumns: readonly Column<Binding>[] = [
  { name: "Users", doc: "Users who get the role.", wide: true, cell: ({ subjects }) => namesOf(subjects, "User") },
  { name: "Groups", doc: "Groups that get it.", wide: true, cell: ({ subjects }) => namesOf(subjects, "Group") },
  {
    name: "ServiceAccounts",
    doc: "Service accounts that get it.",
    wide: true,
    cell: ({ subjects }) => namesOf(subjects, "ServiceAccount"),
  },
];
