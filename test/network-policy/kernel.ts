// Two nodes and the network of their pods, which no packet can leave. All pods are in one namespace, so that one process can be all of
// them: what it sends from the address of a pod goes out over that pod's node, also to itself, and comes back over the other pod's node.
//
//   pods: 10.244.1.0/24 ── node n1 ── node n2 ── pods: 10.244.2.0/24
//         192.0.2.0/24 (strangers) ──┘
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { runProgram } from "#base/host/run-program.ts";
import type { RunInNetwork } from "#network/policy/enforcer.ts";
import type { Connection } from "./model.ts";

/** Why the tests cannot run here, or false. */
export const impossible: string | false =
  process.getuid?.() !== 0
    ? "only root may make network namespaces"
    : ["/usr/sbin/nft", "/usr/sbin/ip"].some((path) => !existsSync(path))
      ? "nftables or iproute2 is not installed"
      : false;

const program = fileURLToPath(new URL("./everyone.ts", import.meta.url));
let made = 0;

/** A network namespace, for the life of a `using`. */
export function namespace(label: string): { readonly name: string } & Disposable {
  const name = `knarr-np-${process.pid}-${made++}-${label}`;
  execFileSync("ip", ["netns", "add", name]);
  return { name, [Symbol.dispose]: () => void execFileSync("ip", ["netns", "del", name]) };
}

export const runIn =
  (netns: string): RunInNetwork =>
  (command, options) =>
    runProgram(["nsenter", `--net=/run/netns/${netns}`, ...command], options);

export interface Probe extends Connection {
  /** Whether the round waits for its answer. */
  readonly isExpected: boolean;
}

export class PodNetwork implements AsyncDisposable {
  /** Namespaces of the nodes, by name. */
  readonly nodes: Readonly<Record<"n1" | "n2", string>>;
  readonly #helper: ChildProcess;
  readonly #owned: AsyncDisposableStack;
  readonly #waiting = new Map<number, (answer: unknown) => void>();
  #next = 0;

  private constructor(nodes: PodNetwork["nodes"], helper: ChildProcess, owned: AsyncDisposableStack) {
    this.nodes = nodes;
    this.#helper = helper;
    this.#owned = owned;
    helper.on("message", ({ id, answer }: { id: number; answer: unknown }) => {
      this.#waiting.get(id)?.(answer);
      this.#waiting.delete(id);
    });
  }

  /** Each address answers at each port, over TCP and UDP. */
  static async make(addresses: readonly string[], ports: readonly number[]): Promise<PodNetwork> {
    await using owned = new AsyncDisposableStack();
    const [n1, n2, pods] = ["n1", "n2", "pods"].map((label) => owned.use(namespace(label)).name) as [
      string,
      string,
      string,
    ];
    connect(n1, n2, pods, addresses);
    const helper = spawn(
      "nsenter",
      [`--net=/run/netns/${pods}`, process.execPath, program, addresses.join(","), ports.join(",")],
      { stdio: ["ignore", "inherit", "inherit", "ipc"] },
    );
    owned.defer(async () => {
      const ended = once(helper, "exit");
      if (helper.exitCode === null && helper.kill()) await ended;
    });
    const [said] = await Promise.race([once(helper, "message"), once(helper, "exit")]);
    if (said !== "ready") throw new Error(`the process of the pods ended with ${said}`);
    return new PodNetwork({ n1, n2 }, helper, owned.move());
  }

  /**
   * Makes all connections at once, and returns those that were answered by the time that all expected ones were, and some more packets
   * had been through: nothing overtakes on these cables.
   */
  round(probes: readonly Probe[]): Promise<readonly boolean[]> {
    return this.#ask({ probes });
  }

  /** Opens a connection that stays; its name is for `say`. */
  open(name: string, connection: Connection): Promise<"open" | "closed"> {
    return this.#ask({ open: connection, name });
  }

  /** Says something on an open connection. What the other side has heard so far is what `heard` tells. */
  say(name: string, who: "client" | "server", text: string): Promise<void> {
    return this.#ask({ say: text, name, who });
  }

  heard(name: string, who: "client" | "server"): Promise<string> {
    return this.#ask({ heard: who, name });
  }

  #ask<T>(question: object): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const id = this.#next++;
    this.#waiting.set(id, resolve);
    this.#helper.send({ id, ...question });
    return promise as Promise<T>;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }
}

const strangers = { 4: "192.0.2.0/24", 6: "fd00:99::/64" };

function connect(n1: string, n2: string, pods: string, addresses: readonly string[]): void {
  const batch = (netns: string, lines: readonly string[]) => {
    const [six, four] = [true, false].map((is) => lines.filter((line) => line.startsWith("-6 ") === is));
    const input = (part: readonly string[] = []) => `${part.map((line) => line.replace("-6 ", "")).join("\n")}\n`;
    execFileSync("ip", ["-n", netns, "-batch", "-"], { input: input(four), stdio: "pipe" });
    execFileSync("ip", ["-6", "-n", netns, "-batch", "-"], { input: input(six), stdio: "pipe" });
  };
  const settings = (netns: string, ...values: readonly string[]) =>
    execFileSync("nsenter", [`--net=/run/netns/${netns}`, "sh", "-c", values.map((one) => `echo ${one}`).join("; ")]);
  // Addresses are good at once: nobody else could have them.
  for (const netns of [n1, n2, pods])
    settings(netns, ...["all", "default"].map((which) => `0 > /proc/sys/net/ipv6/conf/${which}/accept_dad`));
  batch(n1, [
    "link set lo up",
    `link add pods type veth peer name to-n1 netns ${pods}`,
    `link add n2 type veth peer name n1 netns ${n2}`,
    ...upWith("pods", "10.0.1.1/24", "fd00:1::1/64"),
    ...upWith("n2", "10.0.0.1/24", "fd00::1/64"),
    ...["10.244.1.0/24", strangers[4]].map((range) => `route add ${range} via 10.0.1.2`),
    ...["fd00:244:1::/64", strangers[6]].map((range) => `-6 route add ${range} via fd00:1::2`),
  ]);
  batch(n2, [
    "link set lo up",
    `link add pods type veth peer name to-n2 netns ${pods}`,
    ...upWith("pods", "10.0.2.1/24", "fd00:2::1/64"),
    ...upWith("n1", "10.0.0.2/24", "fd00::2/64"),
    "route add 10.244.2.0/24 via 10.0.2.2",
    "-6 route add fd00:244:2::/64 via fd00:2::2",
    ...["10.244.1.0/24", strangers[4]].map((range) => `route add ${range} via 10.0.0.1`),
    ...["fd00:244:1::/64", strangers[6]].map((range) => `-6 route add ${range} via fd00::1`),
  ]);
  batch(n1, ["route add 10.244.2.0/24 via 10.0.0.2", "-6 route add fd00:244:2::/64 via fd00::2"]);
  for (const netns of [n1, n2]) {
    const conf = "/proc/sys/net";
    settings(netns, `1 > ${conf}/ipv4/ip_forward`, `1 > ${conf}/ipv6/conf/all/forwarding`);
    settings(netns, `0 > ${conf}/ipv4/conf/pods/send_redirects`, `0 > ${conf}/ipv4/conf/all/send_redirects`);
  }
  connectPods(pods, addresses, batch, settings);
}

const upWith = (link: string, ...addresses: readonly string[]): readonly string[] => [
  ...addresses.map((address) => `address add ${address} dev ${link}${address.includes(":") ? " nodad" : ""}`),
  `link set ${link} up`,
];

/** What the pods send goes out, even to addresses that are here; what comes in is taken, even from such. */
function connectPods(
  pods: string,
  addresses: readonly string[],
  batch: (netns: string, lines: readonly string[]) => unknown,
  settings: (netns: string, ...values: readonly string[]) => unknown,
): void {
  const conf = "/proc/sys/net/ipv4/conf";
  settings(
    pods,
    ...["to-n1", "to-n2"].flatMap((link) => [`1 > ${conf}/${link}/accept_local`, `0 > ${conf}/${link}/rp_filter`]),
    `0 > ${conf}/all/rp_filter`,
  );
  batch(pods, [
    "link set lo up",
    ...upWith("to-n1", "10.0.1.2/24", "fd00:1::2/64"),
    ...upWith("to-n2", "10.0.2.2/24", "fd00:2::2/64"),
    ...addresses.map((one) => `address add ${one}/${one.includes(":") ? "128 nodad" : "32"} dev lo`),
    ...[1, 2].flatMap((i) => [
      ...["10.244.0.0/16", strangers[4], "10.96.0.0/16"].map((to) => `route add ${to} via 10.0.${i}.1 table 10${i}`),
      ...["fd00:244::/32", strangers[6]].map((to) => `-6 route add ${to} via fd00:${i}::1 table 10${i}`),
      `rule add pref 5 iif lo from 10.244.${i}.0/24 lookup 10${i}`,
      `-6 rule add pref 5 iif lo from fd00:244:${i}::/64 lookup 10${i}`,
    ]),
    `rule add pref 5 iif lo from ${strangers[4]} lookup 101`,
    `-6 rule add pref 5 iif lo from ${strangers[6]} lookup 101`,
    "rule add pref 10 lookup local",
    "rule del pref 0",
    "-6 rule add pref 10 lookup local",
    "-6 rule del pref 0",
  ]);
}
