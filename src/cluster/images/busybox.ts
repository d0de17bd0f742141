// The layer that all demo images begin with: busybox under all its names, and the files that programs expect of any system.
import { runProgram } from "#base/host/run-program.ts";
import { entriesOf, type SystemFile, withFolders } from "./system-files.ts";
import type { TarEntry } from "./tar.ts";

/** Debian's busybox 1.35 crashes on every use of wget's option for timeouts, so the time is kept by another of its programs. */
const wget = (busybox: string): string => `#!/bin/sh
seconds= next=
for word do
  shift
  case $next$word in
    -T|--timeout) next=timeout: ;;
    timeout:*) seconds=$word next= ;;
    -T*) seconds=\${word#-T} ;;
    --timeout=*) seconds=\${word#--timeout=} ;;
    *) set -- "$@" "$word" ;;
  esac
done
[ -n "$seconds" ] || exec ${busybox} wget "$@"
timeout "$seconds" ${busybox} wget "$@"
code=$?
[ "$code" -lt 124 ] && exit "$code"
echo "wget: download timed out" >&2
exit 1
`;

const accounts = [
  "root:x:0:0:root:/root:/bin/sh",
  "www-data:x:33:33:www-data:/:/bin/false",
  "nobody:x:65534:65534:nobody:/:/bin/false",
];
const groups = ["root:x:0:", "www-data:x:33:", "nogroup:x:65534:"];

/** The program comes first among its files. */
export async function busyboxLayer(files: readonly SystemFile[]): Promise<readonly TarEntry[]> {
  const [busybox] = files;
  if (!busybox) throw new Error("a program has at least its own file");
  const applets = (await runProgram([busybox.source, "--list-full"])).split("\n").filter(Boolean);
  const links = applets
    .map((applet) => ({ name: applet.includes("/") ? applet : `bin/${applet}`, link: busybox.path }))
    .filter(({ name }) => `/${name}` !== busybox.path);
  const text = (name: string, ...lines: readonly string[]): TarEntry => ({
    name,
    content: Buffer.from(`${lines.join("\n")}\n`),
  });
  return withFolders([
    ...entriesOf(files),
    ...links,
    { name: "usr/bin/wget", mode: 0o755, content: Buffer.from(wget(busybox.path)) },
    text("etc/passwd", ...accounts),
    text("etc/group", ...groups),
    text("etc/nsswitch.conf", "hosts: files dns"),
    { name: "root/", mode: 0o700 },
    { name: "run/" },
    { name: "tmp/", mode: 0o1777 },
    { name: "var/tmp/", mode: 0o1777 },
  ]);
}
