// Sysctls that pods may set: those of their own namespaces that affect no other pod. The list is upstream's.
// Upstream: pkg/kubelet/sysctl/safe_sysctls.go and pkg/kubelet/sysctl/allowlist.go.
import type { Pod } from "#api/core/v1/pod.ts";
import type { Rejection } from "../pods-context.ts";

/** Parameters of the network's namespace; that of inter-process communication has one. */
const safe = {
  net: [
    "ip_local_port_range",
    "tcp_syncookies",
    "ping_group_range",
    "ip_unprivileged_port_start",
    "ip_local_reserved_ports",
    "tcp_keepalive_time",
    "tcp_fin_timeout",
    "tcp_keepalive_intvl",
    "tcp_keepalive_probes",
    "tcp_rmem",
    "tcp_wmem",
  ].map((name) => `net.ipv4.${name}`),
  ipc: ["kernel.shm_rmid_forced"],
};

export function admitSysctls({ spec }: Pod): Rejection | undefined {
  for (const { name: written } of spec.securityContext?.sysctls ?? []) {
    const problem = problemOf(dotted(written), spec);
    if (problem) return { reason: "SysctlForbidden", message: `forbidden sysctl: ${problem}` };
  }
  return undefined;
}

function problemOf(name: string, { hostNetwork, hostIPC }: Pod["spec"]): string | undefined {
  const isNet = safe.net.includes(name);
  if (!isNet && !safe.ipc.includes(name)) return `"${name}" not allowlisted`;
  if (isNet ? hostNetwork : hostIPC) return `"${name}" not allowed with host ${isNet ? "Net" : "IPC"} enabled`;
  return undefined;
}

/** Names may be written with slashes; dots then stand for what they are. */
function dotted(name: string): string {
  if (name.search(/[./]/) < 0 || name[name.search(/[./]/)] === ".") return name;
  return name.replace(/[./]/g, (mark) => (mark === "/" ? "." : "/"));
}
