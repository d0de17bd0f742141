// What iptables-restore reads: commands by table, which take effect all together.
// Upstream: pkg/util/iptables/iptables.go.

/** Chains are named before rules lead to them, and removed after all rules are gone. A chain comes with its table: `nat KUBE-SERVICES`. */
export class RestoreText {
  readonly #tables = new Map<string, { heads: string[]; rules: string[]; removals: string[] }>();

  replace(chain: string, rules: readonly string[]): void {
    const [table, name] = this.#at(chain);
    table.heads.push(`:${name} - [0:0]`);
    for (const line of rules) table.rules.push(`-A ${name} ${line}`);
  }

  remove(chain: string): void {
    const [table, name] = this.#at(chain);
    table.heads.push(`:${name} - [0:0]`);
    table.removals.push(`-X ${name}`);
  }

  insert(chain: string, line: string): void {
    const [table, name] = this.#at(chain);
    table.rules.push(`-I ${name} ${line}`);
  }

  delete(chain: string, line: string): void {
    const [table, name] = this.#at(chain);
    table.rules.push(`-D ${name} ${line}`);
  }

  #at(chain: string) {
    const [name = "", of = ""] = chain.split(" ");
    const table = this.#tables.get(name) ?? { heads: [], rules: [], removals: [] };
    this.#tables.set(name, table);
    return [table, of] as const;
  }

  get text(): string {
    return [...this.#tables]
      .map(([name, { heads, rules, removals }]) =>
        [`*${name}`, ...heads, ...rules, ...removals, "COMMIT", ""].join("\n"),
      )
      .join("");
  }
}
