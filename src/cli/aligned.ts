/** Lines of columns, each but the last as wide as its longest text. */
export function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const widthOf = (column: number) => Math.max(0, ...rows.map((row) => row[column]?.length ?? 0));
  return rows.map((row) => row.map((text, i) => (i < row.length - 1 ? text.padEnd(widthOf(i)) : text)).join("   "));
}
