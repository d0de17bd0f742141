// What is wrong with an expression, and how it is shown. Follows cel-go's common/error.go.

/** Something that is wrong at a place of an expression. */
export interface CelProblem {
  readonly message: string;
  /** The UTF-16 offset into the source, or -1 if the problem concerns all of it. */
  readonly offset: number;
}

const mostShown = 100;

/** All problems in the order of their places, each with the line it is in. */
export function formatProblems(source: string, problems: readonly CelProblem[]): string {
  const located = problems.map((problem) => ({ problem, ...locate(source, problem.offset) }));
  located.sort((a, b) => a.line - b.line || a.column - b.column || compareText(a.problem.message, b.problem.message));
  const shown = located.slice(0, mostShown).map(({ problem, line, column, text }) => {
    const head = `ERROR: <input>:${line}:${column + 1}: ${problem.message}`;
    return text === undefined ? head : `${head}\n | ${text.replaceAll("\t", " ")}\n | ${marker(text, column)}`;
  });
  if (located.length > mostShown) shown.push(`${located.length - mostShown} more errors were truncated`);
  return shown.join("\n");
}

interface Location {
  readonly line: number;
  /** In code points, from 0. */
  readonly column: number;
  /** Undefined where there is no line to show. */
  readonly text: string | undefined;
}

function locate(source: string, offset: number): Location {
  if (offset < 0) return { line: -1, column: -1, text: undefined };
  if (source === "") return { line: 1, column: -1, text: undefined };
  const before = source.slice(0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  const lineEnd = source.indexOf("\n", lineStart);
  const line = before.split("\n").length;
  const column = [...before.slice(lineStart)].length;
  return { line, column, text: source.slice(lineStart, lineEnd < 0 ? undefined : lineEnd) };
}

/** Points at a column; characters of several bytes take the marks that are as wide as they are. */
function marker(text: string, column: number): string {
  const characters = [...text];
  let marks = "";
  for (const character of characters.slice(0, column)) marks += isWide(character) ? "\uff0e" : ".";
  return marks + (isWide(characters[column]) ? "\uff3e" : "^");
}

function isWide(character: string | undefined): boolean {
  return character !== undefined && (character.codePointAt(0) ?? 0) > 0x7f;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
