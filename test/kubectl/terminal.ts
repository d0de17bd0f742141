// Our kubectl in a real terminal, with containers of a real runtime behind it.
import assert from "node:assert/strict";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { image } from "../kubelet/containerd.ts";
import { type ServedNode, said } from "../kubelet/served-node.ts";
import { PseudoTerminal } from "./pseudo-terminal.ts";

/** Draws on the other screen, tells its size whenever it changes, shows what is typed byte by byte, and goes back on q. */
const screen = `
$| = 1; system("stty raw -echo"); print "\\e[?1049h\\e[2J";
my $size = sub { my $s = \`stty size\`; chomp $s; print "\\e[1;1Hsize <$s>\\n" }; $SIG{WINCH} = $size; $size->();
while (1) { my $n = sysread(STDIN, my $key, 1); next if !defined $n; last if !$n || $key eq "q"; printf "<%d>", ord $key }
print "\\e[?1049l"; system("stty sane"); exit 5;`;

/** Counts what is typed until a line that is "end". */
const counter = `$| = 1; system("stty raw -echo"); print "ready\\r\\n"; my $n = 0;
while (sysread(STDIN, my $part, 65536)) { $n += length $part; last if $part =~ /Z$/ } print "got $n\\r\\n"; system("stty sane")`;

export async function terminalTests(t: TestContext, node: ServedNode, kubectl: string): Promise<void> {
  const env = { PATH: process.env.PATH, HOME: node.folder, KUBECONFIG: join(node.folder, "kubeconfig"), TERM: "xterm" };
  const open = (command: string) => new PseudoTerminal("sh", ["-c", command], env);

  await t.test("a full-screen program has the terminal: its size, its keys, Ctrl-C and Ctrl-Z too", async () => {
    using terminal = open(`${kubectl} exec -it web -- perl -e '${screen}'; echo "code $?"; exec sleep 1000`);
    await terminal.until(/\[\?1049h/);
    await terminal.until(/size <24 80>/);
    assert.doesNotMatch(terminal.shown, /\r\n/, "a line feed stays one");
    terminal.resize(50, 132);
    await terminal.until(/size <50 132>/);
    const from = terminal.shown.length;
    terminal.type("a\x03\x1a\x1b[A");
    await terminal.until(/<97><3><26><27><91><65>/, from);
    assert.equal(await terminal.echoes(), false);
    terminal.type("q");
    await terminal.until(/\[\?1049l[\s\S]*command terminated with exit code 5\r\ncode 5\r\n/);
    assert.equal(await terminal.echoes(), true, "the terminal is as it was");
  });

  await t.test("a megabyte that is pasted arrives whole", async () => {
    using terminal = open(`exec ${kubectl} exec -it web -- perl -e '${counter}'`);
    await terminal.until(/ready/);
    const lines = `${"y".repeat(99)}\n`.repeat(10_000);
    terminal.type(`${lines}Z`);
    await terminal.until(/got 1000001/);
    assert.equal(await terminal.ended(), 0);
  });

  await t.test("Ctrl-C ends what has no terminal of its own, and puts nothing out of order", async () => {
    using terminal = open(
      `trap : INT; ${kubectl} exec -i web -- sh -c 'echo begun; sleep 1000'; echo "code $?"; exec sleep 1000`,
    );
    await terminal.until(/begun/);
    terminal.type("\x03");
    await terminal.until(/code 130/);
    assert.equal(await terminal.echoes(), true);
  });

  await t.test("whoever reads may have read enough", async () => {
    using terminal = open(
      `{ ${kubectl} exec web -- sh -c 'while :; do echo line; done'; echo "code $?" >&2; } | head -2; exec sleep 1000`,
    );
    await terminal.until(/line\r\nline\r\n[\s\S]*code 141/);
  });

  await t.test("the keys to leave leave what runs alone", async () => {
    await node.pod("left", {
      containers: [{ name: "c", image, command: ["sh", "-c", "echo hello; cat"], stdin: true, tty: true }],
    });
    using terminal = open(`${kubectl} attach -it left; echo "code $?"`);
    await terminal.until(/try pressing enter/);
    terminal.type("one\r");
    await terminal.until(/one\r\none\r\n/);
    terminal.type("\x10\x11");
    await terminal.until(/Session ended, resume using 'kubectl attach left -c c -n default -i -t' command\r\ncode 0/);
    const { stdout } = await node.run(kubectl, ["get", "pod", "left", "-o", "jsonpath={.status.phase}"]);
    assert.equal(String(stdout), "Running");
  });

  await t.test("run -it --rm shows what a pod does, ends as it does, and leaves nothing", async () => {
    const overrides = JSON.stringify({ spec: { nodeName: "n1", automountServiceAccountToken: false } });
    const program = "sh -c 'echo begun; read word; echo got $word; exit 4'";
    const flags = `--image=${image} --image-pull-policy=IfNotPresent --restart=Never --overrides='${overrides}'`;
    using terminal = open(`${kubectl} run once -it --rm ${flags} --command -- ${program}; echo "code $?"`);
    await terminal.until(/begun/);
    terminal.type("it\r");
    await terminal.until(
      /got it[\s\S]*pod "once" deleted from default namespace[\s\S]*terminated \(Error\)[\s\S]*code 4/,
    );
  });

  await t.test("port-forward goes on with the pod that takes the place of another", async () => {
    const serving = `while true; do printf 'HTTP/1.0 200 OK\\r\\n\\r\\nhello' | perl -e '
      socket(S, 2, 1, 6); setsockopt(S, 1, 2, pack("l", 1)); bind(S, pack("S n a4 x8", 2, 8080, "\\0\\0\\0\\0")) or die;
      listen(S, 9); while (accept(C, S)) { sysread(C, my $in, 999); syswrite(C, "HTTP/1.0 200 OK\\r\\n\\r\\nhello"); close C }'; done`;
    const spec = {
      containers: [{ name: "c", image, command: ["sh", "-c", serving] }],
      terminationGracePeriodSeconds: 0,
    };
    await node.pod("moved", spec);
    const child = node.start(kubectl, ["port-forward", "moved", ":8080", "--address", "127.0.0.1"]);
    const [, port] = await said(child, /Forwarding from 127\.0\.0\.1:(\d+)/);
    const ask = async () => (await fetch(`http://127.0.0.1:${port}/`)).text();
    await node.machine.until(async () => (await ask().catch(() => "")) === "hello", "the first answers");
    const again = said(child, /connected to a pod of moved again/);
    assert.equal((await node.run(kubectl, ["delete", "pod", "moved", "--force"])).code, 0);
    await node.pod("moved", spec);
    await again;
    await node.machine.until(async () => (await ask().catch(() => "")) === "hello", "the second answers");
    child.kill("SIGINT");
  });
}
