// What a simulated container answers to a command: enough for a first look around, and a clear no to the rest.

import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { own } from "#base/collections.ts";
import type { RemoteCommandStreams } from "#wire/streams/remote-command.ts";

export interface CommandAnswer {
  readonly exitCode: number;
  readonly output: string;
}

/** Whom the command is run in, as far as it is known. */
export interface CommandContext {
  readonly pod?: Pod | undefined;
  readonly container?: Container | undefined;
}

const commands: Readonly<Record<string, (args: readonly string[], config: CommandContext) => CommandAnswer>> = {
  echo: (args) => ({ exitCode: 0, output: `${args.join(" ")}\n` }),
  hostname: (_, { pod }) => ({ exitCode: 0, output: `${pod?.spec.hostname ?? pod?.metadata.name ?? ""}\n` }),
  env: (_, { container }) => ({
    exitCode: 0,
    output: (container?.env ?? []).map(({ name, value = "" }) => `${name}=${value}\n`).join(""),
  }),
  true: () => ({ exitCode: 0, output: "" }),
  false: () => ({ exitCode: 1, output: "" }),
  sh: (args, place) => shell(args, place),
};

export function answerCommand([program = "", ...args]: readonly string[], place: CommandContext = {}): CommandAnswer {
  const name = program.slice(program.lastIndexOf("/") + 1);
  const command = Object.hasOwn(commands, name) ? own(commands, name) : undefined;
  return command?.(args, place) ?? unknown(program);
}

const shells: ReadonlySet<string> = new Set(["sh", "ash", "bash", "dash"]);

/** Whether the process of a container is a shell that reads what is typed: by its command, or since images to look around with have one. */
export const isShell = ({ stdin = false, command = [], args = [] }: Container): boolean => {
  const words = [...command, ...args];
  return stdin && (words.length === 0 || isShellCommand(words));
};

/** A shell without a script. */
export const isShellCommand = ([program = "", ...args]: readonly string[]): boolean =>
  args.length === 0 && shells.has(program.slice(program.lastIndexOf("/") + 1));

/** What a shell does with what is typed: a command on each line, until nothing more comes. Returns the code it ends with. */
export async function runShell(
  { stdin, stdout, stderr }: Pick<RemoteCommandStreams, "stdin" | "stdout" | "stderr">,
  context: CommandContext,
): Promise<number> {
  const [decoder, encoder] = [new TextDecoder(), new TextEncoder()];
  let exitCode = 0;
  let rest = "";
  /** Returns whether the shell goes on. */
  const run = async (line: string): Promise<boolean> => {
    const [word, code] = line.trim().split(/\s+/);
    if (word === "exit") exitCode = code === undefined ? exitCode : Number.parseInt(code, 10) || 0;
    if (word === "exit" || word === endOfInput) return false;
    if (!word) return true;
    const answer = answerCommand(["sh", "-c", line], context);
    exitCode = answer.exitCode;
    await (exitCode === 127 ? (stderr ?? stdout) : stdout)?.(encoder.encode(answer.output));
    return true;
  };
  for await (const part of stdin ?? []) {
    const text = rest + decoder.decode(part, { stream: true }).replaceAll(endOfInput, `${endOfInput}\n`);
    const lines = text.split(/\r\n|\r|\n/);
    rest = (lines.pop() ?? "").slice(-longestLine);
    for (const line of lines) if (!(await run(line))) return exitCode;
  }
  await run(rest);
  return exitCode;
}

const longestLine = 4096;
/** What a terminal sends for Ctrl-D. */
const endOfInput = "\u0004";

/** `sh -c` with one plain command. */
function shell([option, line = ""]: readonly string[], place: CommandContext): CommandAnswer {
  const words = line.trim().split(/\s+/);
  const isPlain = option === "-c" && words[0] !== "sh" && !/[|&;<>()$`\\"'*?[\]{}]/.test(line);
  return isPlain ? answerCommand(words, place) : unknown("sh");
}

const unknown = (program: string): CommandAnswer => ({
  exitCode: 127,
  output: `${program}: this container is simulated; it knows ${Object.keys(commands).join(", ")}\n`,
});
