// What a simulated container answers to a command: enough for a first look around, and a clear no to the rest.
import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";

export interface CommandAnswer {
  readonly exitCode: number;
  readonly output: string;
}

/** Whom the command is run in, as far as it is known. */
export interface CommandPlace {
  readonly pod?: Pod | undefined;
  readonly container?: Container | undefined;
}

const commands: Readonly<Record<string, (args: readonly string[], config: CommandPlace) => CommandAnswer>> = {
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

export function answerCommand([program = "", ...args]: readonly string[], place: CommandPlace = {}): CommandAnswer {
  const name = program.slice(program.lastIndexOf("/") + 1);
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  return command?.(args, place) ?? unknown(program);
}

/** `sh -c` with one plain command. */
function shell([option, line = ""]: readonly string[], place: CommandPlace): CommandAnswer {
  const words = line.trim().split(/\s+/);
  const isPlain = option === "-c" && words[0] !== "sh" && !/[|&;<>()$`\\"'*?[\]{}]/.test(line);
  return isPlain ? answerCommand(words, place) : unknown("sh");
}

const unknown = (program: string): CommandAnswer => ({
  exitCode: 127,
  output: `${program}: this container is simulated; it knows ${Object.keys(commands).join(", ")}\n`,
});
