import { equal } from "#base/collections.ts";
import { dns1123Subdomain, pathSegment } from "#schema/formats.ts";
import {
  type Column,
  type Infer,
  invalid,
  notSupported,
  type Problem,
  required,
  string,
  struct,
} from "#schema/index.ts";
import { internalForm } from "../../internal-form.ts";

const group = "rbac.authorization.k8s.io";

export const RoleRef = struct(
  "rbac/v1.RoleRef",
  {
    apiGroup: string(1, "Group of the role.").always().default(group),
    kind: string(2, "Role or ClusterRole.").required(),
    name: string(3, "Name of the role.").required(),
  },
  { atomic: true },
);
export interface RoleRef extends Infer<typeof RoleRef> {}

export const Subject = struct(
  "rbac/v1.Subject",
  {
    kind: string(1, "User, Group or ServiceAccount.").required(),
    apiGroup: string(2, "Group of the subject; none for service accounts."),
    name: string(3, "Name of the subject.").required(),
    namespace: string(4, "Namespace of a service account."),
  },
  {
    atomic: true,
    complete(subject) {
      if (subject.kind === "User" || subject.kind === "Group") subject.apiGroup ||= group;
    },
  },
);
export interface Subject extends Infer<typeof Subject> {}

interface Binding {
  readonly subjects?: readonly Subject[] | undefined;
  readonly roleRef: RoleRef;
}

/** A binding is to a role of one of these kinds, and stays with it. One of a namespace may name its service accounts without it. */
export function* checkBinding(
  { roleRef, subjects = [] }: Binding,
  old: Binding | undefined,
  kinds: readonly string[],
  isNamespaced: boolean,
): Iterable<Problem> {
  if (roleRef.apiGroup !== group) yield notSupported("roleRef.apiGroup", [group]);
  if (!kinds.includes(roleRef.kind)) yield notSupported("roleRef.kind", kinds);
  if (roleRef.name === "") yield required("roleRef.name");
  else for (const detail of pathSegment(roleRef.name)) yield invalid("roleRef.name", detail);
  for (const [i, subject] of subjects.entries()) yield* checkSubject(`subjects[${i}]`, subject, isNamespaced);
  if (old && !equal(roleRef, old.roleRef))
    yield invalid("roleRef", "cannot change roleRef", internalForm(RoleRef, roleRef));
}

function* checkSubject(
  at: string,
  { kind, name, apiGroup = "", namespace }: Subject,
  isNamespaced: boolean,
): Iterable<Problem> {
  if (name === "") yield required(`${at}.name`);
  if (kind === "ServiceAccount") {
    for (const detail of name === "" ? [] : dns1123Subdomain(name)) yield invalid(`${at}.name`, detail);
    if (apiGroup !== "") yield notSupported(`${at}.apiGroup`, [""]);
    if (!isNamespaced && !namespace) yield required(`${at}.namespace`);
  } else if (kind === "User" || kind === "Group") {
    if (apiGroup !== group) yield notSupported(`${at}.apiGroup`, [group], apiGroup);
  } else yield notSupported(`${at}.kind`, ["ServiceAccount", "User", "Group"]);
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
