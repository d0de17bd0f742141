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
