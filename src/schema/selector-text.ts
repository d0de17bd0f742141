// The grammar of a label selector: `a=1,b!=2,c in (x,y),d notin (z),e,!f,g>1`. Errors are in upstream's words.
import { qualifiedName } from "./formats.ts";
import { invalid, problemText } from "./problem.ts";

export type SelectorOperator = "=" | "==" | "!=" | "in" | "notin" | "exists" | "!" | "gt" | "lt";

export interface Requirement {
  readonly key: string;
  readonly operator: SelectorOperator;
  readonly values: readonly string[];
}

/** Text or a struct that is no selector. */
export class SelectorError extends Error {
  override readonly name = "SelectorError";
}

type MakeRequirement = (key: string, operator: SelectorOperator, values: readonly string[]) => Requirement;

/** The requirements in the order they are written. Throws SelectorError. */
export function parseRequirements(text: string, make: MakeRequirement): Requirement[] {
  const tokens = new Tokens(text);
  const requirements: Requirement[] = [];
  while (tokens.peek().is !== "end") {
    if (!startsRequirement(tokens.peek()))
      throw new SelectorError(`found '${tokens.peek().text}', expected: !, identifier, or 'end of string'`);
    try {
      requirements.push(parseRequirement(tokens, make));
    } catch (error) {
      if (!(error instanceof SelectorError)) throw error;
      throw new SelectorError(`unable to parse requirement: ${error.message}`);
    }
    const { is, text: found } = tokens.take();
    if (is === "end") break;
    if (is !== ",") throw new SelectorError(`found '${found}', expected: ',' or 'end of string'`);
    if (!startsRequirement(tokens.peek()))
      throw new SelectorError(`found '${tokens.peek().text}', expected: identifier after ','`);
  }
  return requirements;
}

const startsRequirement = ({ is }: Token): boolean => isWord(is) || is === "!";

/** `in` and `notin` are words like any other, except where an operator is due. */
const isWord = (is: TokenType): boolean => is === "word" || is === "in" || is === "notin";

function parseRequirement(tokens: Tokens, make: MakeRequirement): Requirement {
  const negated = tokens.peek().is === "!";
  if (negated) tokens.take();
  const { is, text: key } = tokens.take();
  if (!isWord(is)) throw new SelectorError(`found '${key}', expected: identifier`);
  const wrong = qualifiedName(key);
  // Upstream has no path to name here, and says so.
  if (wrong.length > 0) throw new SelectorError(problemText(invalid("<nil>", wrong.join("; "), key)));

  if (negated) return make(key, "!", []);
  if (tokens.peek().is === "end" || tokens.peek().is === ",") return make(key, "exists", []);
  const found = tokens.take();
  const operator = operators.get(found.is);
  if (operator === undefined) throw new SelectorError(`found '${found.text}', expected: in, notin, =, ==, !=, gt, lt`);
  const values = operator === "in" || operator === "notin" ? parseValues(tokens) : [parseValue(tokens)];
  return make(key, operator, values);
}

const operators: ReadonlyMap<TokenType, SelectorOperator> = new Map<TokenType, SelectorOperator>([
  ["in", "in"],
  ["notin", "notin"],
  ["=", "="],
  ["==", "=="],
  ["!=", "!="],
  [">", "gt"],
  ["<", "lt"],
]);

function parseValue(tokens: Tokens): string {
  if (tokens.peek().is === "end" || tokens.peek().is === ",") return "";
  const { is, text } = tokens.take();
  if (!isWord(is)) throw new SelectorError(`found '${text}', expected: identifier`);
  return text;
}

/** `(a,b)`: an empty place between commas is the empty value. */
function parseValues(tokens: Tokens): readonly string[] {
  const open = tokens.take();
  if (open.is !== "(") throw new SelectorError(`found '${open.text}' expected: '('`);
  const first = tokens.peek();
  if (first.is === ")") {
    tokens.take();
    return [""];
  }
  if (!isWord(first.is) && first.is !== ",")
    throw new SelectorError(`found '${first.text}', expected: ',', ')' or identifier`);
  const values = new Set<string>();
  while (tokens.peek().is !== ")") {
    const { is, text } = tokens.take();
    if (isWord(is)) {
      values.add(text);
      if (tokens.peek().is !== "," && tokens.peek().is !== ")")
        throw new SelectorError(`found '${tokens.peek().text}', expected: ',' or ')'`);
    } else if (is === ",") {
      if (values.size === 0 || tokens.peek().is === ")" || tokens.peek().is === ",") values.add("");
    } else throw new SelectorError(`found '${text}', expected: ',', or identifier`);
  }
  tokens.take();
  return [...values].sort();
}

type TokenType = "word" | "end" | "in" | "notin" | "(" | ")" | "," | "!" | "=" | "==" | "!=" | ">" | "<";
interface Token {
  readonly is: TokenType;
  readonly text: string;
}

/** The text word by word, one ahead. After the end there is only the end. */
class Tokens {
  readonly #pattern = /[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^=!(),<> \t\r\n]+))?/y;
  readonly #text: string;
  #next: Token;

  constructor(text: string) {
    this.#text = text;
    this.#next = this.#read();
  }

  peek(): Token {
    return this.#next;
  }

  take(): Token {
    const token = this.#next;
    this.#next = this.#read();
    return token;
  }

  #read(): Token {
    const [, symbol, word] = this.#pattern.exec(this.#text) ?? [];
    if (symbol !== undefined) return { is: symbol as TokenType, text: symbol };
    if (word === "in" || word === "notin") return { is: word, text: word };
    return word === undefined ? { is: "end", text: "" } : { is: "word", text: word };
  }
}
