// Upstream: kubectl/pkg/cmd/set/set_subject.go.
import { equal } from "#base/collections.ts";
import { command } from "../../command.ts";
import { KubectlError } from "../../errors.ts";
import { compareText } from "../../go/value.ts";
import type { KubeObject } from "../../rest/client.ts";
import { allAndSelector, changeAll, localServerRun, setFlags, setSelectorFlag, setTargets } from "./change.ts";

export const setSubject = command({
  use: "subject (-f FILENAME | TYPE NAME) [--user=username] [--group=groupname] [--serviceaccount=namespace:serviceaccountname] [--dry-run=server|client|none]",
  long: "Add users, groups and service accounts to a role binding or cluster role binding.",
  examples: `  # A service account more for a cluster role binding
  kubectl set subject clusterrolebinding admin --serviceaccount=team:robot

  # Two users and a group for a role binding
  kubectl set subject rolebinding admin --user=ann --user=ben --group=ops`,
  flags: {
    ...setFlags,
    ...setSelectorFlag,
    group: { type: "stringArray", help: "Group to add; may be given several times." },
    serviceaccount: { type: "stringArray", help: "Service account to add, as namespace:name." },
    user: { type: "stringArray", help: "User to add; may be given several times." },
  },
  run: async (session, args, flags, invocation) => {
    const infos = await setTargets(session, args, flags);
    if (flags.local && flags["dry-run"] === "server") throw new KubectlError(localServerRun);
    if (flags.all && flags.selector !== "") throw new KubectlError(allAndSelector);
    if (flags.user.length + flags.group.length + flags.serviceaccount.length === 0)
      throw new KubectlError("you must specify at least one value of user, group or serviceaccount");
    for (const account of flags.serviceaccount) {
      if (!/^[^:]*:[^:]+$/.test(account)) throw new KubectlError("serviceaccount must be <namespace>:<name>");
      if (account.startsWith(":") && infos.some(({ object }) => object?.kind === "ClusterRoleBinding"))
        throw new KubectlError("serviceaccount must be <namespace>:<name>, namespace must be specified");
    }
    const usual = flags.local ? "default" : await session.namespace();
    const subjects = [
      ...sorted(flags.user).map((name) => ({ apiGroup: rbac, kind: "User", name })),
      ...sorted(flags.group).map((name) => ({ apiGroup: rbac, kind: "Group", name })),
      ...sorted(flags.serviceaccount).map((account) => {
        const [namespace, name] = account.split(":");
        return { kind: "ServiceAccount", name, namespace: namespace || usual };
      }),
    ];
    const change = {
      done: "subjects updated",
      failure: "failed to patch subjects to rolebinding: ",
      change: (object: KubeObject) => withSubjects(object, subjects),
    };
    await changeAll(session, infos, flags, change, invocation);
  },
});

const rbac = "rbac.authorization.k8s.io";
const sorted = (names: readonly string[]): readonly string[] => [...new Set(names)].toSorted(compareText);

function withSubjects(object: KubeObject, subjects: readonly object[]): KubeObject {
  if (object.apiVersion !== `${rbac}/v1` || !["RoleBinding", "ClusterRoleBinding"].includes(String(object.kind)))
    throw new KubectlError("setting subjects is only supported for RoleBinding/ClusterRoleBinding");
  const now: readonly object[] = Array.isArray(object.subjects) ? object.subjects : [];
  const more = subjects.filter((subject) => !now.some((one) => equal(one, subject)));
  return more.length === 0 ? object : { ...object, subjects: [...now, ...more] };
}
