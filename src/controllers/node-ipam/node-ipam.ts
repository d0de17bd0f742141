// Gives each node a network for its pods, cut from the cluster's.
// Upstream: pkg/controller/nodeipam/ipam/range_allocator.go.
import { Node } from "#api/core/v1/node.ts";
import { type Controller, controller, type Reconcile, TerminalError } from "#client/controller.ts";
import { type Cidr, parseCidr } from "#schema/ip.ts";
import { type Networks, OutOfRange } from "./networks.ts";
import { type NodeIpamSettings, networksOf } from "./settings.ts";

/** What a node has, or is about to get. */
interface NodeRanges {
  readonly uid: string;
  readonly cidrs: readonly string[];
}

export function nodeIpamController(settings: NodeIpamSettings): Controller<typeof Node> {
  const book = new Book(networksOf(settings));
  return controller({
    name: "node-ipam",
    reportsAs: "cidrAllocator",
    for: Node,
    workers: 30,
    backoff: { firstMs: 5, maxMs: 30_000 }, // a node that waits for a network should not wait long after one is free

    async reconcile(node, context) {
      if (node.metadata.deletionTimestamp !== undefined) return;
      book.open(context.cache.list(Node));
      if (hasNetworks(node)) book.enter(node);
      else await assign(node, book, context);
    },

    async gone({ name }) {
      book.strike(name);
    },
  });
}

const hasNetworks = ({ spec }: Node): boolean => (spec.podCIDRs ?? []).length > 0;

async function assign(node: Node, book: Book, { client, event }: Reconcile): Promise<void> {
  const { name = "" } = node.metadata;
  const report = (status: string) => event("Normal", status, `Node ${name} status is now: ${status}`);
  let podCIDRs: readonly string[];
  try {
    podCIDRs = book.allocate(node);
  } catch (error) {
    report("CIDRNotAvailable");
    throw error;
  }
  try {
    await client.patch(Node, { name }, "strategic", { spec: { podCIDR: podCIDRs[0], podCIDRs } });
  } catch (error) {
    report("CIDRAssignmentFailed");
    throw error; // the networks stay the node's: the write may have been done, and is tried again with them
  }
}

/** Who has which networks. */
class Book {
  readonly #networks: readonly Networks[];
  readonly #held = new Map<string, NodeRanges>();
  #isOpen = false;

  constructor(networks: readonly Networks[]) {
    this.#networks = networks;
  }

  /** Marks the networks of all existing nodes as used before the first allocation. */
  open(nodes: readonly Node[]): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    for (const node of nodes) {
      try {
        if (hasNetworks(node)) this.enter(node);
      } catch (error) {
        if (!(error instanceof TerminalError)) throw error; // reported when that node is reconciled
      }
    }
  }

  enter({ metadata: { name = "", uid = "" }, spec: { podCIDRs = [] } }: Node): void {
    const held = this.#held.get(name);
    if (held?.uid === uid && held.cidrs.join() === podCIDRs.join()) return;
    this.strike(name);
    const cidrs = podCIDRs.map((text, i) => this.#parsed(name, text, i));
    for (const [i, cidr] of cidrs.entries()) {
      try {
        this.#networks[i]?.occupy(cidr);
      } catch (cause) {
        for (const [j, before] of cidrs.slice(0, i).entries()) this.#networks[j]?.release(before);
        if (!(cause instanceof OutOfRange)) throw cause;
        const message = `failed to mark cidr[${podCIDRs[i]}] at idx [${i}] as occupied for node: ${name}`;
        throw new TerminalError(message, { cause });
      }
    }
    this.#held.set(name, { uid, cidrs: podCIDRs });
  }

  /** One network of each of the cluster's; the same ones if the node was given some that it does not show yet. */
  allocate({ metadata: { name = "", uid = "" } }: Node): readonly string[] {
    const held = this.#held.get(name);
    if (held?.uid === uid) return held.cidrs;
    this.strike(name);
    const cidrs: string[] = [];
    for (const [i, networks] of this.#networks.entries()) {
      const cidr = networks.allocate();
      if (cidr === undefined) {
        this.#release(cidrs);
        throw new Error(
          `failed to allocate cidr from cluster cidr at idx:${i}: CIDR allocation failed; there are no remaining CIDRs left to allocate in the accepted range`,
        );
      }
      cidrs.push(cidr);
    }
    this.#held.set(name, { uid, cidrs });
    return cidrs;
  }

  strike(name: string): void {
    this.#release(this.#held.get(name)?.cidrs ?? []);
    this.#held.delete(name);
  }

  #release(cidrs: readonly string[]): void {
    for (const [i, text] of cidrs.entries()) {
      const cidr = parseCidr(text);
      if (cidr) this.#networks[i]?.release(cidr);
    }
  }

  /** Retrying does not help with any of these problems: the networks of a node do not change. */
  #parsed(name: string, text: string, i: number): Cidr {
    const cidr = parseCidr(text);
    if (!cidr) throw new TerminalError(`failed to parse node ${name}, CIDR ${text}`);
    if (!this.#networks[i])
      throw new TerminalError(
        `node:${name} has an allocated cidr: ${text} at index:${i} that does not exist in cluster cidrs configuration`,
      );
    return cidr;
  }
}
