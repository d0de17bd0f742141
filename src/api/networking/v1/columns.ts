/** The first few, and how many more there are. */
export function firstFew(texts: readonly string[], most = 3): string {
  if (texts.length === 0) return "<unset>";
  const head = texts.slice(0, most).join(",");
  return texts.length > most ? `${head} + ${texts.length - most} more...` : head;
}
