// npm run bench -- SUITE…: runs benchmarks, prints one JSON line per figure, and exits 1 when a goal is missed.
// A suite is a file here that exports `run(report)`. Figures are compared within one run, because machines are noisy.
import { globSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Figure, Report } from "./figure.ts";

const here = dirname(fileURLToPath(import.meta.url));
const suites = globSync("*.ts", { cwd: here })
  .map((file) => basename(file, ".ts"))
  .filter((name) => name !== "run" && name !== "figure")
  .toSorted();

const chosen = process.argv.slice(2);
if (chosen.length === 0 || chosen.includes("--help")) {
  console.log(
    `Usage: npm run bench -- SUITE…\n\nSuites: ${suites.join(", ")}\n\nPrints {suite,name,value,unit,goal,ok} per figure; exits 1 when a goal is missed.`,
  );
  process.exit(chosen.length === 0 ? 2 : 0);
}
const unknown = chosen.filter((name) => !suites.includes(name));
if (unknown.length > 0) {
  console.error(`bench: no suite ${unknown.map((name) => `"${name}"`).join(", ")}; there are ${suites.join(", ")}`);
  process.exit(2);
}

for (const suite of chosen) {
  const report: Report = ({ name, value, unit, goal }: Figure) => {
    const ok = goal === undefined || (goal.atMost !== undefined ? value <= goal.atMost : value >= goal.atLeast);
    const wanted = goal && (goal.atMost !== undefined ? `≤ ${goal.atMost}` : `≥ ${goal.atLeast}`);
    console.log(
      JSON.stringify({ suite, name, value: Number(value.toPrecision(4)), unit, ...(wanted && { goal: wanted }), ok }),
    );
    if (!ok) process.exitCode = 1;
  };
  const { run } = (await import(join(here, `${suite}.ts`))) as { run(report: Report): Promise<void> };
  await run(report);
}
