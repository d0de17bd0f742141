/** How many letters have to be left out, added, changed or swapped with the next one to get from one word to the other. */
export function distance(a: string, b: string): number {
  let [before, row]: [readonly number[], readonly number[]] = [[], Array.from({ length: b.length + 1 }, (_, i) => i)];
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (before[j - 2] ?? 0) + 1 : change;
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, change, swap));
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}

const most = 3;

/** The names that someone who wrote `word` may have meant, the likeliest first: those it begins or is, or nearly so. */
export function nearNames(word: string, names: readonly string[]): readonly string[] {
  const allowed = Math.max(1, Math.floor(word.length / 4));
  return names
    .map((name) => ({ name, far: Math.min(distance(word, name), distance(word, name.slice(0, word.length))) }))
    .filter(({ far }) => far <= allowed)
    .sort((a, b) => a.far - b.far || a.name.localeCompare(b.name))
    .slice(0, most)
    .map(({ name }) => name);
}
