// The test command of the README: checks, then every test that this machine allows.
// Usage: npm test [-- path…]   run only these files
//        npm run soak          the long runs
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { ensurePackages } from "./packages.ts";

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))));
const args = process.argv.slice(2);
const soak = args.includes("--soak");
const chosen = args.filter((arg) => !arg.startsWith("--"));

const missing = ensurePackages();

if (!soak && chosen.length === 0) run("tools/check.ts");
const files = chosen.length > 0 ? chosen : globSync(soak ? "test/**/*.soak.ts" : "{src,test}/**/*.test.ts").toSorted();
run("--test", "--test-concurrency=2", `--test-timeout=${soak ? 7_200_000 : 420_000}`, ...files);

for (const { name, for: purpose } of missing) console.log(`skipped ${purpose}: ${name} is not installed`);

function run(...nodeArgs: string[]): void {
  const { status } = spawnSync(process.execPath, nodeArgs, { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
