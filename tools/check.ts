// Everything that can be known about the sources without running the system: types, lint, layers, budgets, and what follows upstream.
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bin = (name: string) => join(root, "node_modules/.bin", name);

const checks: Record<string, [string, ...string[]]> = {
  types: [bin("tsc"), "--noEmit", "--pretty"],
  lint: [bin("biome"), "check", "--error-on-warnings", "--max-diagnostics=50"],
  "layers and budgets": [
    process.execPath,
    "--test",
    "--test-reporter=dot",
    ...["layers", "upstream"].map((name) => join(root, `test/${name}.test.ts`)),
  ],
};

const results = await Promise.all(
  Object.entries(checks).map(async ([name, [command, ...args]]) => ({ name, ...(await run(command, args)) })),
);
for (const { name, code, output, seconds } of results) {
  if (code !== 0) process.stdout.write(output);
  console.log(`${code === 0 ? "ok    " : "FAILED"} ${name} (${seconds.toFixed(1)} s)`);
}
process.exitCode = results.every(({ code }) => code === 0) ? 0 : 1;

function run(
  command: string,
  args: readonly string[],
): Promise<{ code: number | null; output: string; seconds: number }> {
  const start = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, FORCE_COLOR: process.stdout.isTTY ? "1" : "0" },
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output, seconds: (performance.now() - start) / 1000 }));
  });
}
