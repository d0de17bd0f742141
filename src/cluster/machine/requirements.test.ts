import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { aptStatus, distributionOf, howToInstall, type PackageName } from "./packages.ts";
import { ensureRequirements, findRequirements, isOlder, type MachineFacts, versionIn } from "./requirements.ts";

const folder = mkdtempSync(join(tmpdir(), "knarr-requirements-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

const debian = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\n';
const answers: Readonly<Record<string, string>> = {
  containerd: "containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u3\n",
  runc: "runc version 1.1.5+ds1\ncommit: 1.1.5+ds1-1+deb12u1\n",
  nft: "nftables v1.0.6 (Lester Gooch #5)\n",
  "/usr/lib/cni/ptp": '{"cniVersion":"1.0.0","supportedVersions":["0.3.1","0.4.0","1.0.0"]}',
};

interface Fake extends Partial<Omit<MachineFacts, "run">> {
  readonly without?: readonly string[];
  /** What programs say instead; undefined: they fail. */
  readonly says?: Readonly<Record<string, string | undefined>>;
}

/** A machine that has everything but what is said. */
const machine = ({ without = [], says = {}, ...rest }: Fake = {}): MachineFacts => ({
  platform: "linux",
  isRoot: true,
  osRelease: debian,
  mounts: "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
  has: (program) => !without.includes(program),
  exists: (path) => path.startsWith("/usr/lib/cni/") && !without.includes(path),
  async run(command) {
    const [program = ""] = command;
    const whole = command.filter((word) => !word.startsWith("-")).join(" ");
    const key = Object.keys(says).find((name) => whole.startsWith(name));
    if (key === undefined) return answers[program] ?? "";
    if (says[key] === undefined) throw new Error(`${program}: not permitted`);
    return says[key];
  },
  ...rest,
});

const cniFiles = ["ptp", "host-local", "loopback", "portmap", "bandwidth"].map((name) => `/usr/lib/cni/${name}`);

const cases: readonly {
  readonly name: string;
  readonly of: Fake;
  readonly problems: readonly string[];
  readonly packages?: readonly PackageName[];
}[] = [
  { name: "a machine that has everything", of: {}, problems: [] },
  {
    name: "a machine without anything",
    of: {
      without: [...cniFiles, "containerd", "ctr", "runc", "ip", "nsenter", "unshare", "mount", "nft", "conntrack"],
    },
    problems: [
      "containerd is not installed",
      "ctr is not installed",
      "runc is not installed",
      "ip is not installed",
      "nsenter is not installed",
      "unshare is not installed",
      "mount is not installed",
      "nft is not installed",
      "conntrack is not installed",
      "the CNI plugins are not installed (looked in /usr/lib/cni, /opt/cni/bin, /usr/libexec/cni)",
    ],
    packages: ["containerd", "ctr", "runc", "iproute2", "util-linux", "mount", "nftables", "conntrack", "cni-plugins"],
  },
  {
    name: "a containerd that is too old",
    of: { says: { containerd: "containerd github.com/containerd/containerd 1.5.9 abc" } },
    problems: ["containerd is of version 1.5.9, and 1.6 or newer is needed"],
    packages: ["containerd"],
  },
  {
    name: "a runc built from no release",
    of: { says: { runc: "runc version unknown\n" } },
    problems: [],
  },
  {
    name: "a program that does not run",
    of: { says: { nft: undefined } },
    problems: ["nft does not run (nft: not permitted)"],
    packages: ["nftables"],
  },
  {
    name: "one CNI plugin is missing",
    of: { without: ["/usr/lib/cni/portmap"] },
    problems: ["the CNI plugins portmap are missing in /usr/lib/cni"],
    packages: ["cni-plugins"],
  },
  {
    name: "CNI plugins that are too old",
    of: { says: { "/usr/lib/cni/ptp": '{"supportedVersions":["0.1.0"]}' } },
    problems: ["the CNI plugins in /usr/lib/cni do not know version 0.4.0 of CNI"],
    packages: ["cni-plugins"],
  },
  {
    name: "a kernel without bridges and packet filter",
    of: { says: { "unshare ip": undefined, "unshare nft": undefined } },
    problems: [
      "on this machine there are no network bridges (unshare: not permitted)",
      "on this machine there is no packet filter (nf_tables) (unshare: not permitted)",
    ],
  },
  {
    name: "a kernel without overlays and cgroups",
    of: { says: { "unshare mount": undefined }, mounts: "" },
    problems: [
      `on this machine there is no overlay file system for ${folder} (unshare: not permitted)`,
      "on this machine no cgroups are mounted (/proc/self/mountinfo names none)",
    ],
  },
];

for (const { name, of, problems, packages = [] } of cases)
  test(`requirements: ${name}`, async () => {
    const { unmet } = await findRequirements(folder, machine(of));
    assert.deepEqual(
      unmet.map(({ problem }) => problem),
      problems,
    );
    assert.deepEqual([...new Set(unmet.flatMap(({ package: from }) => from ?? []))], packages);
    assert.deepEqual(readdirSync(folder), [], "nothing is left of the trials");
  });

const refusals: readonly (readonly [string, Fake, RegExp])[] = [
  [
    "another system",
    { platform: "darwin" },
    /real containers need Linux, and this is darwin: use --runtime simulated$/,
  ],
  ["no root", { isRoot: false }, /need root: run as root \(sudo\), or use --runtime simulated, which needs nothing$/],
  [
    "missing programs and no leave to install",
    { without: ["runc", "conntrack"] },
    /cannot run here: runc is not installed; conntrack is not installed; --no-install was given, so install what is missing with "apt-get install -y --no-install-recommends runc conntrack", or use --runtime simulated/,
  ],
  [
    "a kernel that cannot, beside missing programs",
    { without: ["runc"], mounts: "" },
    /runc is not installed; on this machine no cgroups are mounted .*; use --runtime simulated, which needs nothing$/,
  ],
];
for (const [name, of, message] of refusals)
  test(`requirements: a clear sentence for ${name}`, async () => {
    const options = { folder, install: false, progress: () => assert.fail("nothing is to be done") };
    await assert.rejects(ensureRequirements(options, new AbortController().signal, machine(of)), { message });
  });

test("requirements: on other distributions the command is told, even with leave to install", async () => {
  const of = machine({ osRelease: "ID=fedora\nPRETTY_NAME='Fedora Linux 42'\n", without: ["ip", ...cniFiles] });
  const options = { folder, install: true, progress: () => assert.fail("nothing is to be done") };
  await assert.rejects(ensureRequirements(options, new AbortController().signal, of), {
    message: /install what is missing with "dnf install -y iproute containernetworking-plugins"/,
  });
});

test("requirements: proxy mode ipvs needs ip_vs of the kernel, and says what helps", async () => {
  const options = { folder: "/tmp", install: false, proxyMode: "ipvs", progress: () => undefined };
  const { signal } = new AbortController();
  await assert.rejects(
    ensureRequirements(options, signal, machine({ without: ["ipset"] })),
    /ipset is not installed; .*the kernel has no ip_vs.*modprobe -a ip_vs ip_vs_rr.*another --proxy-mode/,
  );
  const exists = (path: string) => path.startsWith("/usr/lib/cni/") || path === "/proc/net/ip_vs";
  await assert.rejects(
    ensureRequirements(options, signal, machine({ without: ["ipvsadm", "ipset"], exists })),
    /ipvsadm is not installed; ipset is not installed; .*apt-get install -y --no-install-recommends ipvsadm ipset/,
  );
  await ensureRequirements(options, signal, machine({ exists }));
});

test("requirements: a machine that has everything is told where its plugins are", async () => {
  const options = { folder, install: false, progress: () => assert.fail("nothing is to be done") };
  const found = await ensureRequirements(options, new AbortController().signal, machine());
  assert.deepEqual(found, { pluginFolder: "/usr/lib/cni" });
});

const all: readonly PackageName[] = ["ctr", "containerd", "cni-plugins", "util-linux", "mount", "conntrack"];
const commands: readonly (readonly [string, string])[] = [
  [
    "ID=ubuntu\nID_LIKE=debian",
    "apt-get install -y --no-install-recommends containerd containernetworking-plugins util-linux mount conntrack",
  ],
  [
    'ID="rocky"\nID_LIKE="rhel centos fedora"',
    "dnf install -y containerd containernetworking-plugins util-linux conntrack-tools",
  ],
  ["ID=alpine", "apk add containerd-ctr containerd cni-plugins util-linux-misc mount conntrack-tools"],
  ["ID=manjaro\nID_LIKE=arch", "pacman -S --needed containerd cni-plugins util-linux conntrack-tools"],
  [
    'ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"',
    "zypper install -y containerd-ctr containerd cni-plugins util-linux conntrack-tools",
  ],
];
for (const [osRelease, command] of commands)
  test(`packages: ${osRelease.split("\n")[0]} installs them by its own command`, () => {
    assert.equal(howToInstall(all, distributionOf(osRelease)), `install what is missing with "${command}"`);
  });

test("packages: a system that nobody knows is told Debian's names", () => {
  assert.equal(
    howToInstall(["conntrack", "ctr"], distributionOf("ID=nixos")),
    "install what Debian has in its packages conntrack, containerd",
  );
  assert.equal(distributionOf(""), undefined);
});

test("packages: apt's lines about its progress are read, others are not", () => {
  assert.equal(aptStatus("pmstatus:runc:40.4:Unpacking runc (amd64)"), "40% Unpacking runc (amd64)");
  assert.equal(aptStatus("dlstatus:1:20.0:Retrieving file 1 of 2"), "20% Retrieving file 1 of 2");
  assert.equal(aptStatus("Setting up runc (1.1.5) ..."), undefined);
});

test("requirements: versions are found and compared part by part", () => {
  assert.equal(versionIn("containerd containerd.io 1.7.27 05044ec"), "1.7.27");
  assert.equal(versionIn("no number"), undefined);
  for (const [version, least, older] of [
    ["1.6.0", "1.6", false],
    ["1.10", "1.6", false],
    ["1.5.18", "1.6", true],
    ["2.0", "1.6", false],
    ["1", "1.0.1", true],
    ["0.9.8", "1.0.1", true],
  ] as const)
    assert.equal(isOlder(version, least), older, `${version} < ${least}`);
});
