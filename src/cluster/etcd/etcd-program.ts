// The programs that an etcd of ours needs on this machine.
import { distributionOf, howToInstall, installPackages, type PackageName } from "../machine/packages.ts";
import { type EnsureOptions, readMachine } from "../machine/requirements.ts";

const programs: readonly (readonly [program: string, from: PackageName])[] = [
  ["etcd", "etcd-server"],
  ["setpriv", "setpriv"],
];

/** Installs what is missing, or throws an error that says what a person can do. */
export async function ensureEtcd(
  { install, progress }: Pick<EnsureOptions, "install" | "progress">,
  signal: AbortSignal,
): Promise<void> {
  const machine = readMachine();
  const lacking = () => programs.filter(([program]) => !machine.has(program));
  const missing = lacking();
  if (missing.length === 0) return;
  const packages = missing.map(([, from]) => from);
  const distribution = distributionOf(machine.osRelease);
  if (install && machine.isRoot && distribution?.family === "debian") {
    progress(`installing ${packages.join(" ")}`);
    await installPackages(packages, progress, signal);
    if (lacking().length === 0) return;
  }
  const names = missing.map(([program]) => program).join(" and ");
  throw new Error(
    `an etcd of its own cannot run here: ${names} is not installed; ${howToInstall(packages, distribution)}`,
  );
}
