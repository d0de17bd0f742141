// A program in a terminal of its own, whose keys are pressed and whose window is dragged by a test.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

/** Gives a program a terminal and passes on what it shows; each line of its input is a JSON of what to type or how large to be. */
const driver = `
import fcntl, json, os, pty, select, signal, struct, sys, termios
rows, cols = int(sys.argv[1]), int(sys.argv[2])
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[3], sys.argv[3:])
def size(r, c):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", r, c, 0, 0))
    os.kill(pid, signal.SIGWINCH)
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
pending, typed, listening = b"", b"", True
while True:
    readable, writable, _ = select.select([fd] + ([0] if listening else []), [fd] if typed else [], [], 120)
    if not readable and not writable: os.kill(pid, signal.SIGKILL); sys.exit(99)
    if fd in readable:
        try: out = os.read(fd, 65536)
        except OSError: out = b""
        if not out: break
        os.write(1, out)
    if writable: typed = typed[os.write(fd, typed[:1024]):]
    if 0 in readable:
        got = os.read(0, 1 << 20)
        if not got: listening = False
        pending += got
        while b"\\n" in pending:
            line, pending = pending.split(b"\\n", 1)
            told = json.loads(line)
            if "type" in told: typed += told["type"].encode("latin1")
            if "size" in told: size(*told["size"])
            if "modes" in told: os.write(1, b"<echo %d>" % (1 if termios.tcgetattr(fd)[3] & termios.ECHO else 0))
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status) & 255)
`;

export class PseudoTerminal implements Disposable {
  readonly #child: ChildProcess;
  readonly #over: Promise<number | null>;
  #shown = "";

  constructor(program: string, args: readonly string[], env: Readonly<Record<string, string | undefined>>) {
    this.#child = spawn("python3", ["-c", driver, "24", "80", program, ...args], { env });
    this.#child.stdout?.on("data", (bytes: Buffer) => {
      this.#shown += bytes.toString("latin1");
      this.#child.emit("shown");
    });
    this.#child.stdin?.on("error", () => undefined); // it may be over while we type
    this.#over = once(this.#child, "close").then(([code]) => code as number | null);
  }

  type(keys: string): void {
    this.#child.stdin?.write(`${JSON.stringify({ type: keys })}\n`);
  }

  resize(rows: number, columns: number): void {
    this.#child.stdin?.write(`${JSON.stringify({ size: [rows, columns] })}\n`);
  }

  /** All that was shown so far. */
  get shown(): string {
    return this.#shown;
  }

  /** Whether keys are shown as they are typed, which a terminal that was put back does. */
  async echoes(): Promise<boolean> {
    const from = this.#shown.length;
    this.#child.stdin?.write(`${JSON.stringify({ modes: true })}\n`);
    return (await this.until(/<echo (\d)>/, from))[1] === "1";
  }

  /** Waits for what is shown after `from`. Rejects if the program ends without it. */
  async until(pattern: RegExp, from = 0): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.#shown.slice(from));
      if (found) return found;
      const over = await Promise.race([once(this.#child, "shown"), this.#over]);
      if (!Array.isArray(over) && !pattern.test(this.#shown.slice(from)))
        throw new Error(
          `it ended with ${over} and never showed ${pattern}: ${JSON.stringify(this.#shown.slice(-2000))}`,
        );
    }
  }

  /** How it ended; a signal that ended it counts as 256 less its number. */
  ended(): Promise<number | null> {
    return this.#over;
  }

  [Symbol.dispose](): void {
    this.#child.kill("SIGKILL");
  }
}
