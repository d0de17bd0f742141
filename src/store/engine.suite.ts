// What engine.ts says in words, as tests. Every engine runs all of them, unchanged.
import { checkWith, type EngineUnderTest } from "./suite/kit.suite.ts";
import { lists } from "./suite/lists.suite.ts";
import { acrossARestart } from "./suite/restart.suite.ts";
import { timeToLive } from "./suite/time-to-live.suite.ts";
import { watches } from "./suite/watches.suite.ts";
import { readingAndWriting } from "./suite/writing.suite.ts";

export type { EngineUnderTest } from "./suite/kit.suite.ts";

export function engineSuite(name: string, open: () => Promise<EngineUnderTest>): void {
  const check = checkWith(open);
  for (const part of [readingAndWriting, lists, watches, timeToLive, acrossARestart]) part(name, check);
}
