/** The order in which Go's YAML prints keys: letters after all else, and numbers within by their value, so that a10 follows a9. */
export function compareKeys(left: string, right: string): number {
  const a = lettersOf(left);
  const b = lettersOf(right);
  for (let i = 0; i < a.length && i < b.length; i++) {
    const x = a[i] as string;
    const y = b[i] as string;
    if (x === y) continue;
    const isLeft = isLetter(x);
    const isRight = isLetter(y);
    if (isLeft && isRight) return byCode(x, y);
    if (isLeft || isRight) return isRight ? -1 : 1;
    return byNumber(a, b, i) || byCode(x, y);
  }
  return a.length - b.length;
}

/** Keys are compared often, and nearly all are ASCII: there, the text is the list of its letters. */
type Letters = string | readonly string[];
const lettersOf = (text: string): Letters => (/^\p{ASCII}*$/u.test(text) ? text : [...text]);

const isLetter = (letter: string): boolean => (letter < "\x80" ? isAsciiLetter(letter) : /^\p{L}$/u.test(letter));
const isAsciiLetter = (letter: string): boolean => (letter >= "a" && letter <= "z") || (letter >= "A" && letter <= "Z");
const isDigit = (letter: string | undefined): boolean =>
  letter !== undefined && (letter < "\x80" ? letter >= "0" && letter <= "9" : /^\p{Nd}$/u.test(letter));

const byCode = (a: string, b: string): number => (a.codePointAt(0) ?? 0) - (b.codePointAt(0) ?? 0);

/** Compares the runs of digits from `at` on; a 0 after other digits of the same number weighs as much as they do. */
function byNumber(a: Letters, b: Letters, at: number): number {
  let lead = 0;
  if (a[at] === "0" || b[at] === "0")
    for (let j = at - 1; j >= 0 && isDigit(a[j]); j--)
      if (a[j] !== "0") {
        lead = 1;
        break;
      }
  const left = run(a, at, lead);
  const right = run(b, at, lead);
  if (left.value < right.value) return -1;
  return left.value > right.value ? 1 : left.end - right.end;
}

/** So many digits fit a number; more take a large one, as wide as Go's. */
const mostDigits = 14;

function run(letters: Letters, start: number, lead: number): { value: bigint | number; end: number } {
  let value: bigint | number = lead;
  let end = start;
  for (; isDigit(letters[end]); end++) {
    const digit: number = ((letters[end] as string).codePointAt(0) ?? 0) - 0x30;
    if (end - start === mostDigits || digit > 9) value = BigInt(value);
    value = typeof value === "bigint" ? BigInt.asIntN(64, value * 10n + BigInt(digit)) : value * 10 + digit;
  }
  return { value, end };
}
