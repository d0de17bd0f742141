const isLetter = (letter: string): boolean => /^\p{L}$/u.test(letter);
const isDigit = (letter: string | undefined): boolean => letter !== undefined && /^\p{Nd}$/u.test(letter);

/** The order in which Go's YAML prints keys: letters after all else, and numbers within by their value, so that a10 follows a9. */
export function compareKeys(left: string, right: string): number {
  const a = [...left];
  const b = [...right];
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

const byCode = (a: string, b: string): number => (a.codePointAt(0) ?? 0) - (b.codePointAt(0) ?? 0);

/** Compares the runs of digits from `at` on; a 0 after other digits of the same number weighs as much as they do. */
function byNumber(a: readonly string[], b: readonly string[], at: number): number {
  let lead = 0n;
  if (a[at] === "0" || b[at] === "0")
    for (let j = at - 1; j >= 0 && isDigit(a[j]); j--)
      if (a[j] !== "0") {
        lead = 1n;
        break;
      }
  const left = run(a, at, lead);
  const right = run(b, at, lead);
  if (left.value !== right.value) return left.value < right.value ? -1 : 1;
  return left.end - right.end;
}

function run(letters: readonly string[], start: number, lead: bigint): { value: bigint; end: number } {
  let value = lead;
  let end = start;
  for (; isDigit(letters[end]); end++)
    value = BigInt.asIntN(64, value * 10n + BigInt(((letters[end] as string).codePointAt(0) ?? 0) - 0x30));
  return { value, end };
}
