// How the image nginx ends, whenever it is asked to: its start script as the first process of a process namespace, as in a container,
// with a program in the place of nginx that takes a while until it has handlers for signals, as nginx does.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { nginxStartScript } from "./nginx.ts";

const impossible =
  process.getuid?.() !== 0
    ? "only root may make process namespaces"
    : ["/usr/bin/perl", "/usr/bin/unshare"].some((path) => !existsSync(path))
      ? "perl or unshare is not installed"
      : false;

/** Handles nothing for a moment, then ends when it is told to; `$0` is the code it ends with. */
const slowNginx = `#!/usr/bin/perl
select(undef, undef, undef, 0.03);
my $ended = 0;
$SIG{QUIT} = sub { $ended = 1 };
select(undef, undef, undef, 0.02) until $ended;
exit($ARGV[0]);
`;

const shells = [["/bin/sh"], ["/bin/busybox", "sh"], ["/usr/bin/busybox", "sh"]].filter(([path = ""]) =>
  existsSync(path),
);

class Started {
  readonly folder = mkdtempSync(join(tmpdir(), "knarr-nginx-"));
  readonly #child;
  readonly ended: Promise<readonly [number | null, string | null]>;

  constructor(shell: readonly string[], code: number) {
    writeFileSync(join(this.folder, "start"), nginxStartScript(10, this.folder));
    writeFileSync(join(this.folder, "nginx"), slowNginx, { mode: 0o755 });
    const command = [...shell, join(this.folder, "start"), "nginx", String(code)];
    const env = { ...process.env, PATH: `${this.folder}:${process.env.PATH}` };
    this.#child = spawn("unshare", ["--pid", "--fork", "--kill-child", ...command], { env, stdio: "ignore" });
    this.ended = once(this.#child, "exit") as unknown as typeof this.ended;
  }

  /** The script itself, once there is one: the first process of the namespace. */
  get first(): number | undefined {
    const pid = this.#child.pid;
    const children = pid === undefined ? "" : readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    return children === "" ? undefined : Number(children);
  }

  async script(): Promise<number> {
    for (let pid = this.first; ; pid = this.first) {
      if (pid !== undefined) return pid;
      await sleep(0);
    }
  }
}

/** More than once: what comes too early is heard by nobody. */
async function askUntilEnded(pid: number, signal: NodeJS.Signals, isEnded: () => boolean): Promise<void> {
  for (; !isEnded(); await sleep(50))
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      return;
    }
}

for (const shell of shells)
  test(`the image nginx ends with the code of nginx whenever it is asked to, with ${shell.join(" ")}`, {
    skip: impossible,
  }, async () => {
    // From the first instruction on, until well after nginx listens.
    const delays = Array.from({ length: 60 }, (_, i) => i * 2);
    for (let from = 0; from < delays.length; from += 10)
      await Promise.all(
        delays.slice(from, from + 10).map(async (delayMs, i) => {
          const code = i % 3;
          const started = new Started(shell, code);
          const pid = await started.script();
          await sleep(delayMs);
          let isEnded = false;
          const ended = started.ended.finally(() => {
            isEnded = true;
          });
          await askUntilEnded(pid, i % 2 ? "SIGTERM" : "SIGQUIT", () => isEnded);
          assert.deepEqual(await ended, [code, null], `asked after ${delayMs} ms`);
          rmSync(started.folder, { recursive: true });
        }),
      );
  });

test("the image nginx ends with the code of nginx when nobody asked", { skip: impossible }, async () => {
  const started = new Started(["/bin/sh"], 7);
  let isEnded = false;
  const ended = started.ended.finally(() => {
    isEnded = true;
  });
  const script = await started.script();
  const nginxOf = () => readFileSync(`/proc/${script}/task/${script}/children`, "utf8").trim();
  while (nginxOf() === "") await sleep(5);
  await askUntilEnded(Number(nginxOf()), "SIGQUIT", () => isEnded);
  assert.deepEqual(await ended, [7, null]);
  rmSync(started.folder, { recursive: true });
});
