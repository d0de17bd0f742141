// What the tests need from the system, beyond Node.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

interface SystemPackage {
  readonly name: string;
  readonly provides: string;
  readonly for: string;
}

export const packages: readonly SystemPackage[] = [
  { name: "etcd-server", provides: "/usr/bin/etcd", for: "the etcd engine's tests" },
  { name: "openssl", provides: "/usr/bin/openssl", for: "the etcd engine's tests of certificates" },
  { name: "kubernetes-client", provides: "/usr/bin/kubectl", for: "the API server's transcripts" },
  { name: "iproute2", provides: "/usr/sbin/ip", for: "the tests of networks" },
  { name: "containerd", provides: "/usr/bin/containerd", for: "the tests of nodes" },
  { name: "runc", provides: "/usr/sbin/runc", for: "the tests of nodes" },
  { name: "containernetworking-plugins", provides: "/usr/lib/cni/bridge", for: "the tests of nodes" },
  { name: "nftables", provides: "/usr/sbin/nft", for: "the service proxy's tests" },
  { name: "conntrack", provides: "/usr/sbin/conntrack", for: "the service proxy's tests" },
  { name: "iptables", provides: "/usr/sbin/iptables", for: "the tests of nodes" },
  { name: "busybox", provides: "/bin/busybox", for: "the images of the tests on real containers" },
  { name: "nginx-light", provides: "/usr/sbin/nginx", for: "the images of the tests on real containers" },
  { name: "docker-registry", provides: "/usr/bin/docker-registry", for: "the tests of pulling images" },
  { name: "curl", provides: "/usr/bin/curl", for: "the API server's test with curl" },
  {
    name: "python3-kubernetes",
    provides: "/usr/lib/python3/dist-packages/kubernetes/__init__.py",
    for: "the API server's test with the Python client",
  },
];

/** Installs what is missing where that is possible (root on a Debian-like system), and returns what is still missing. */
export function ensurePackages(): readonly SystemPackage[] {
  const missing = () => packages.filter(({ provides }) => !existsSync(provides));
  const wanted = missing();
  if (wanted.length === 0) return [];
  if (process.getuid?.() === 0 && existsSync("/usr/bin/apt-get")) {
    const names = wanted.map(({ name }) => name);
    console.log(`installing ${names.join(" ")}`);
    // A package's service must not start: the tests start their own, on their own ports and folders.
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
    const apt = (...args: string[]) =>
      spawnSync("apt-get", ["-qq", ...args], { env, stdio: ["ignore", "ignore", "inherit"] });
    apt("update");
    apt("install", "--yes", "--no-install-recommends", ...names);
  }
  return missing();
}
