import { spawn } from "node:child_process";

export interface ProgramOptions {
  readonly input?: string | Uint8Array;
  readonly signal?: AbortSignal;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The folder it runs in, if not ours. */
  readonly cwd?: string;
}

/** A program that ended with something else than 0, and what it said about it. */
export class ProgramFailed extends Error {
  override readonly name = "ProgramFailed";
  readonly code: number | null;
  readonly said: string;

  constructor(command: readonly string[], code: number | null, said: string) {
    super(`${command.join(" ")}: ${said.trim() || `ended with ${code}`}`);
    this.code = code;
    this.said = said;
  }
}

const systemFolders = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/** Where programs are looked for: also where those of the system are, which a PATH made for people may leave out. */
export const programPath = (path = ""): string =>
  [...new Set([...path.split(":"), ...systemFolders])].filter(Boolean).join(":");

const mostSaid = 16_384;

/** Runs a program to its end, and gives what it wrote. Rejects with ProgramFailed, or with an error that names the command. */
export function runProgram(command: readonly string[], options: ProgramOptions = {}): Promise<string> {
  const { input, signal, env, cwd } = options;
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const [program = "", ...args] = command;
  const child = spawn(program, args, {
    stdio: ["pipe", "pipe", "pipe"],
    ...(signal && { signal }),
    ...(cwd !== undefined && { cwd }),
    env: { ...process.env, PATH: programPath(process.env.PATH), ...env },
  });
  let out = "";
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    if (said.length < mostSaid) said += text;
  });
  child.once("error", (cause) => reject(new Error(`run ${command.join(" ")}`, { cause })));
  child.once("close", (code) => (code === 0 ? resolve(out) : reject(new ProgramFailed(command, code, said))));
  child.stdin.on("error", () => undefined); // it ended before it read all: what it said tells why
  child.stdin.end(input ?? "");
  return promise;
}
