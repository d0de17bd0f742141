// The contents of one nftables table as data, and the commands that bring the kernel's table from what it was to what it is to be.
// What is changed back and forth between two scripts is in neither: the table remembers what the kernel has of all that was touched.

/** What a set is of: `type ipv4_addr;`. A map is a set whose elements have values. */
export interface NftSet {
  readonly kind: "set" | "map";
  readonly declaration: string;
  /** Element → its value, empty for sets. */
  readonly elements: Map<string, string>;
}

/** So many elements are named in one command: longer lines make nft slow. */
const perCommand = 1_000;

export class NftTable {
  /** Family and name, as commands name it. */
  readonly name: string;
  /** Sets and chains that are always there, in the language of nft files. */
  readonly #skeleton: string;
  readonly #sets = new Map<string, NftSet>();
  readonly #chains = new Map<string, readonly string[]>();
  /** Of what was touched since the last script: what the kernel has of it. */
  readonly #setsBefore = new Map<string, boolean>();
  readonly #chainsBefore = new Map<string, readonly string[] | undefined>();
  readonly #elementsBefore = new Map<string, Map<string, string | undefined>>();

  /** `maps` are declared by the skeleton, and begin empty. */
  constructor(name: string, skeleton: string, maps: readonly string[]) {
    this.name = name;
    this.#skeleton = skeleton;
    for (const map of maps) this.#sets.set(map, { kind: "map", declaration: "", elements: new Map() });
  }

  addSet(name: string, declaration: string): void {
    this.#note(this.#setsBefore, name, this.#sets.has(name));
    this.#sets.set(name, { kind: "set", declaration, elements: new Map() });
  }

  /** Its elements go with it. No chain may name it any more when the script is made. */
  removeSet(name: string): void {
    for (const element of this.#sets.get(name)?.elements.keys() ?? []) this.#touch(name, element);
    this.#note(this.#setsBefore, name, true);
    this.#sets.delete(name);
  }

  /** Replaces the value of one that is there. */
  addElement(set: string, element: string, value = ""): void {
    this.#touch(set, element);
    this.#sets.get(set)?.elements.set(element, value);
  }

  removeElement(set: string, element: string): void {
    this.#touch(set, element);
    this.#sets.get(set)?.elements.delete(element);
  }

  setChain(name: string, rules: readonly string[]): void {
    this.#note(this.#chainsBefore, name, this.#chains.get(name));
    this.#chains.set(name, rules);
  }

  /** Nothing may lead to it any more when the script is made. */
  removeChain(name: string): void {
    this.#note(this.#chainsBefore, name, this.#chains.get(name));
    this.#chains.delete(name);
  }

  get size(): { readonly sets: number; readonly chains: number; readonly elements: number } {
    const elements = [...this.#sets.values()].reduce((sum, set) => sum + set.elements.size, 0);
    return { sets: this.#sets.size, chains: this.#chains.size, elements };
  }

  /** The commands for all changes since the last script, empty if there are none. Nothing is named before it is there, or removed while named. */
  changes(): string {
    const script = [...this.#additions(), ...this.#elementChanges(), ...this.#removals()];
    this.#forget();
    return script.length === 0 ? "" : `${script.join("\n")}\n`;
  }

  /** The commands that make the whole table anew, whatever is there, in one transaction: at no moment is there less than one of the two. */
  rewrite(): string {
    this.#forget();
    const { name } = this;
    const own = [...this.#sets].filter(([, { declaration }]) => declaration !== "");
    return [
      this.removal(),
      `table ${name} {\n${this.#skeleton}}\n`,
      ...own.map(([set, { declaration }]) => `add set ${name} ${set} { ${declaration} }\n`),
      ...[...this.#chains.keys()].map((chain) => `add chain ${name} ${chain}\n`),
      ...[...this.#chains].flatMap(([chain, rules]) => rules.map((rule) => `add rule ${name} ${chain} ${rule}\n`)),
      ...[...this.#sets].flatMap(([set, { elements }]) =>
        inCommands(`add element ${name} ${set}`, [...elements].map(written)).map((line) => `${line}\n`),
      ),
    ].join("");
  }

  /** To delete a table that does not exist is an error; to declare one that does is none. */
  removal(): string {
    return `table ${this.name}\ndelete table ${this.name}\n`;
  }

  #additions(): readonly string[] {
    const { name } = this;
    const sets = [...this.#setsBefore].filter(([set, wasThere]) => !wasThere && this.#sets.has(set));
    const chains = [...this.#chainsBefore].flatMap(([chain, before]) => {
      const rules = this.#chains.get(chain);
      return rules && before?.join("\n") !== rules.join("\n") ? [{ chain, before, rules }] : [];
    });
    return [
      ...sets.map(([set]) => `add set ${name} ${set} { ${this.#sets.get(set)?.declaration} }`),
      ...chains.map(({ chain, before }) => `${before ? "flush" : "add"} chain ${name} ${chain}`),
      ...chains.flatMap(({ chain, rules }) => rules.map((rule) => `add rule ${name} ${chain} ${rule}`)),
    ];
  }

  #elementChanges(): readonly string[] {
    const deleted: string[] = [];
    const added: string[] = [];
    for (const [set, touched] of this.#elementsBefore) {
      const elements = this.#sets.get(set)?.elements;
      if (!elements) continue; // it goes with its set, or never was there
      const changed = [...touched].filter(([element, before]) => elements.get(element) !== before);
      const gone = changed.filter(([, before]) => before !== undefined).map(([element]) => element);
      const fresh = changed.flatMap(([element]) => {
        const value = elements.get(element);
        return value === undefined ? [] : [written([element, value])];
      });
      deleted.push(...inCommands(`delete element ${this.name} ${set}`, gone));
      added.push(...inCommands(`add element ${this.name} ${set}`, fresh));
    }
    return [...deleted, ...added];
  }

  /** Chains name each other and sets: all are emptied before any is removed. */
  #removals(): readonly string[] {
    const { name } = this;
    const chains = [...this.#chainsBefore].flatMap(([chain, before]) =>
      before && !this.#chains.has(chain) ? [chain] : [],
    );
    const sets = [...this.#setsBefore].flatMap(([set, wasThere]) => (wasThere && !this.#sets.has(set) ? [set] : []));
    return [
      ...chains.map((chain) => `flush chain ${name} ${chain}`),
      ...chains.map((chain) => `delete chain ${name} ${chain}`),
      ...sets.map((set) => `delete set ${name} ${set}`),
    ];
  }

  #touch(set: string, element: string): void {
    const touched = this.#elementsBefore.get(set) ?? new Map<string, string | undefined>();
    this.#elementsBefore.set(set, touched);
    this.#note(touched, element, this.#sets.get(set)?.elements.get(element));
  }

  #note<V>(before: Map<string, V>, name: string, value: V): void {
    if (!before.has(name)) before.set(name, value);
  }

  #forget(): void {
    this.#setsBefore.clear();
    this.#chainsBefore.clear();
    this.#elementsBefore.clear();
  }
}

const written = ([element, value]: readonly [string, string]): string =>
  value === "" ? element : `${element} : ${value}`;

function inCommands(command: string, elements: readonly string[]): readonly string[] {
  const lines: string[] = [];
  for (let from = 0; from < elements.length; from += perCommand)
    lines.push(`${command} { ${elements.slice(from, from + perCommand).join(", ")} }`);
  return lines;
}
