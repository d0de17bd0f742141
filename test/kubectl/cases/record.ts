// Runs the expressions of `templates.ts` with a real kubectl and writes down what it printed: `tools/node test/kubectl/cases/record.ts`.
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { findKubectls } from "../../apiserver/kubectls.ts";
import { goTemplates, jsonPaths } from "./templates.ts";

const objectFile = fileURLToPath(new URL("object.json", import.meta.url));

export interface RecordedCase {
  readonly expression: string;
  /** Bytes as letters of Latin 1, since some are no text. */
  readonly output: string;
  readonly error: string;
}

export const runWith = (kubectl: string, format: string, expression: string): Promise<RecordedCase> =>
  new Promise((resolve) => {
    const args = ["patch", "--local", "-f", objectFile, "-p", "{}", "--type=merge", "-o", `${format}=${expression}`];
    execFile(kubectl, [...args, "--kubeconfig=/dev/null"], { encoding: "latin1" }, (_, stdout, stderr) =>
      resolve({
        expression,
        output: outputOf(stdout),
        error: reasonOf(Buffer.from(stderr, "latin1").toString("utf8"), expression),
      }),
    );
  });

/** What stands before the help for debugging, which repeats the whole object. */
const outputOf = (stdout: string): string => stdout.split("Error executing template: ")[0] ?? "";

/** What the engine itself said, without the words of the printer around it. */
export function reasonOf(stderr: string, expression: string): string {
  for (const head of [`error: error parsing template ${expression}, `, `error: error parsing jsonpath ${expression}, `])
    if (stderr.startsWith(head)) return stderr.slice(head.length).trimEnd();
  const [, jsonPath] = /Error executing template: (.*?)\. Printing more/s.exec(stderr) ?? [];
  const [, template] = /error executing template .*?": (template: .*)$/s.exec(stderr) ?? [];
  return (jsonPath ?? template ?? stderr).trimEnd();
}

async function record(kubectl: string, format: string, expressions: readonly string[], file: string): Promise<void> {
  const cases: RecordedCase[] = [];
  for (let i = 0; i < expressions.length; i += 2)
    cases.push(...(await Promise.all(expressions.slice(i, i + 2).map((text) => runWith(kubectl, format, text)))));
  writeFileSync(new URL(file, import.meta.url), `[\n${cases.map((one) => JSON.stringify(one)).join(",\n")}\n]\n`);
}

if (import.meta.main) {
  const newest = findKubectls().at(-1);
  if (!newest) throw new Error("there is no kubectl to record");
  const wanted = process.argv[2];
  if (wanted !== "jsonpath") await record(newest.path, "go-template", goTemplates, "go-template.json");
  if (wanted !== "go-template") await record(newest.path, "jsonpath", jsonPaths, "jsonpath.json");
}
