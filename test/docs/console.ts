// The commands that a page shows in its console blocks, and what they print.
import { parseTranscript } from "../apiserver/transcript.ts";

export interface Shown {
  readonly command: string;
  /** Without blank lines. A line with nothing but "…" stands for what is left out; the others then only have to be among what is printed. */
  readonly expected: string;
  /** It is under a mark that says that it takes real containers. */
  readonly isReal: boolean;
}

const block = /^(<!-- real containers -->\n)?```console\n(.*?)^```$/gms;

export function consoleBlocks(page: string): readonly string[] {
  return [...page.matchAll(block)].map(([whole]) => whole);
}

export function shownIn(page: string): readonly Shown[] {
  return [...page.matchAll(block)].flatMap(([, mark, text = ""]) =>
    parseTranscript(text.replaceAll(/\n+/g, "\n")).map(({ command, expected }) => ({
      command,
      expected,
      isReal: mark !== undefined,
    })),
  );
}

/** The page with its commands printing this instead, in their order; undefined leaves what stands there. */
export function withOutputs(page: string, outputs: readonly (string | undefined)[]): string {
  const left = [...outputs];
  return page.replaceAll(block, (_, mark: string | undefined, text: string) => {
    const parts = text.split(/^(?=\$ )/m).map((part) => {
      const output = left.shift();
      const lines = part.split("\n");
      const continued = lines.findIndex((line, i) => i > 0 && !line.startsWith("> "));
      return output === undefined ? part : `${lines.slice(0, continued).join("\n")}\n${output}`;
    });
    return `${mark ?? ""}\`\`\`console\n${parts.join("")}\`\`\``;
  });
}

/** As much of an output as a page shows: the first lines, and after each "…" those from where it goes on with the same line. */
export function shortened(expected: string, output: string): string {
  const lines = output.split("\n").filter((line) => line !== "");
  const parts = expected.split("…\n").map((part, i) => {
    const shown = part.split("\n").slice(0, -1);
    const start = i === 0 ? 0 : lines.indexOf(shown[0] ?? "");
    if (start < 0) throw new Error(`${JSON.stringify(shown[0])} is not printed: ${output}`);
    return lines
      .slice(start, start + shown.length)
      .map((line) => `${line}\n`)
      .join("");
  });
  return parts.join("…\n");
}
