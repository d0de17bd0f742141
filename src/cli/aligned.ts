/** Lines of two columns, the first as wide as its longest text. */
export function aligned(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(0, ...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}   ${value}`);
}
