import type { AddonImage } from "./addon-images.ts";

/** The images that add-ons run, and the control plane where it runs in pods. */
export const addonImages: readonly AddonImage[] = [
  {
    name: "dns",
    bundled: { dns: { source: "cluster/commands/dns.ts", command: "dns" } },
    ports: ["53/udp", "53/tcp", "8080/tcp", "8181/tcp", "9153/tcp"],
  },
  {
    name: "ingress",
    bundled: { ingress: { source: "cluster/commands/ingress.ts", command: "ingress" } },
    ports: ["80/tcp", "443/tcp", "9101/tcp", "10254/tcp"],
    programs: { haproxy: "/usr/sbin/haproxy" },
    folders: ["/run/haproxy"],
  },
  {
    name: "logs",
    bundled: { logs: { source: "cluster/commands/cluster-logs.ts", command: "clusterLogs" } },
    ports: ["8443/tcp", "9115/tcp"],
  },
  {
    name: "gateway",
    bundled: { gateway: { source: "cluster/commands/gateway.ts", command: "gateway" } },
    ports: ["9101/tcp", "10254/tcp"],
    programs: { haproxy: "/usr/sbin/haproxy" },
    folders: ["/run/haproxy"],
  },
  {
    name: "control-plane",
    bundled: {
      "kube-apiserver": { source: "cluster/commands/apiserver.ts", command: "apiserver" },
      "kube-controller-manager": {
        source: "cluster/commands/controller-manager.ts",
        command: "controllerManagerCommand",
      },
      "kube-scheduler": { source: "cluster/commands/scheduler.ts", command: "schedulerCommand" },
    },
  },
  { name: "etcd", bundled: {}, programs: { "etcd-server": "/usr/bin/etcd" } },
];
