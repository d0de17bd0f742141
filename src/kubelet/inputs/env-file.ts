// Files of variables that an init container wrote: NAME='value' in each line, as a shell would read it, and nothing that it would expand.
// Upstream: pkg/kubelet/util/env/env_util.go.

/** The value of a variable; empty if the file does not have it. Throws if a line before it cannot be read. */
export function envFileValue(text: string, key: string): string {
  const lines = text.split(/\r?\n/);
  for (let i = 0; i < lines.length; i++) {
    const line = (lines[i] ?? "").replace(/^[ \t]+/, "");
    if (line === "" || line.startsWith("#")) continue;
    const where = `invalid environment variable format at line ${i + 1}:`;
    const equals = line.indexOf("=");
    if (equals < 0) throw new Error(`${where} missing '='`);
    const name = line.slice(0, equals);
    if (name.trim() === "") throw new Error(`${where} empty variable name`);
    if (/[ \t]$/.test(name)) throw new Error(`${where} whitespace before '=' is not allowed`);
    const rest = line.slice(equals + 1);
    if (/^[ \t]/.test(rest)) {
      if (name === key) return ""; // to a shell, what follows is another word
      continue;
    }
    if (!rest.startsWith("'")) throw new Error(`${where} value must be enclosed in single quotes`);
    const { value, end } = quoted(lines, i, rest.slice(1));
    if (name === key) return value;
    i = end;
  }
  return "";
}

/** What is between the quotes, over as many lines as it takes, and the line in which it ends. */
function quoted(lines: readonly string[], start: number, first: string): { value: string; end: number } {
  let value = "";
  for (let end = start, line: string | undefined = first; line !== undefined; line = lines[++end]) {
    const close = line.indexOf("'");
    if (close < 0) {
      value += `${line}\n`;
      continue;
    }
    if (!/^[ \t]*(#|$)/.test(line.slice(close + 1)))
      throw new Error(`invalid environment variable format at line ${end + 1}: unexpected content after closing quote`);
    return { value: value + line.slice(0, close), end };
  }
  throw new Error(`invalid environment variable format starting at line ${start + 1}: unclosed single quote`);
}
