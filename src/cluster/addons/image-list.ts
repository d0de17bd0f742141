import type { AddonImage } from "./addon-images.ts";

/** The images that add-ons run. */
export const addonImages: readonly AddonImage[] = [
  {
    name: "dns",
    source: "cluster/commands/dns.ts",
    command: "dns",
    ports: ["53/udp", "53/tcp", "8080/tcp", "8181/tcp", "9153/tcp"],
  },
  {
    name: "ingress",
    source: "cluster/commands/ingress.ts",
    command: "ingress",
    ports: ["80/tcp", "443/tcp", "9101/tcp", "10254/tcp"],
    programs: { haproxy: "/usr/sbin/haproxy" },
    folders: ["/run/haproxy"],
  },
];
