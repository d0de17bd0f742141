// What no two clusters share in what commands print.
/** Output without the names, addresses and counts that no two clusters share. */
export function withoutChance(output: string): string {
  let text = output;
  for (const [pattern, replacement] of chance) text = text.replaceAll(pattern, replacement);
  return text;
}

const suffix = "[bcdfghjklmnpqrstvwxz2456789]";
const chance: readonly (readonly [RegExp, string])[] = [
  [new RegExp(`-${suffix}{6,10}-${suffix}{5}\\b`, "g"), "-<hash>-<suffix>"],
  [new RegExp(`-${suffix}{5}\\b`, "g"), "-<suffix>"],
  [new RegExp(`(-|pod-template-hash[=:] *)${suffix}{6,10}\\b`, "g"), "$1<hash>"],
  [/\b10\.244\.\d+\.\d+\b/g, "<pod-ip>"],
  [/\b10\.96\.\d+\.\d+\b/g, "<service-ip>"],
  // Which of the nodes the scheduler chose; where a command is about a node, its name leads the line.
  [/(?<!^)(?<!node\/|nodes? |^Name: +|node "|^ {2}(?:sim-\d, )*)\bsim-\d\b/gm, "<node>"],
  [/^waiting for .*\n/gim, ""], // as often as the rollout was looked at
  [/ in \d+m?s \(\d+m?s including waiting\)/g, " in <time>"],
  [/\b172\.24\.0\.\d\b/g, "<node-ip>"],
  [/simulated:\/\/[0-9a-f]+$/gm, "simulated://<id>"],
  [/ConfigMapOptional: +<nil>/g, "Optional:   false"], // newer kubectls' words
  [/^ *\+[\d.]+ m?s /gm, "+<time> "],
  [/(?<=\d pods? +)\+[\d.]+ m?s( to \+[\d.]+ m?s)?$/gm, "+<time>"],
  [/(system:node:\S+|kube-scheduler|[a-z-]+-controller), [\d.]+ m?s$/gm, "$1"],
  [/(\(\w+\)), [\d.]+ m?s$/gm, "$1, <time>"],
  [/^(The first request spent its time in) .*$/gm, "$1 <stages>"],
  [/^( +)\d+[smh]\d* ago/gm, "$1<age> ago"],
  [/^( +)for \w+, since .*$/gm, "$1for <age>, since <time>"],
  [/ \((?:\d+ times, last )?\w+ ago\):/g, " (<age> ago):"],
  [/^( +next \w+): .*$/gm, "$1: <soon>"],
  [/\(x\d+ over [\dms]+\)/g, "(<times>)"],
];
