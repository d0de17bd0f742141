// The settings of the add-on logs, as the files of a mounted ConfigMap, and again whenever those change.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import { type LogSettings, parseLogSettings } from "#logging/settings.ts";

const lookMs = 5000;

export class LiveLogSettings implements Component {
  readonly name = "settings";
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #log: Log;
  #text: string;
  #current: LogSettings;

  /** Throws UsageError for settings that cannot be used. */
  constructor(folder: string, clock: Clock, log: Log) {
    this.#folder = folder;
    this.#clock = clock;
    this.#log = log;
    const texts = textsIn(folder);
    this.#text = JSON.stringify(texts);
    this.#current = parseLogSettings(texts);
  }

  /** Another object after each change. */
  get current(): LogSettings {
    return this.#current;
  }

  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#clock.sleep(lookMs, signal);
      this.#look();
    }
  }

  #look(): void {
    try {
      const texts = textsIn(this.#folder);
      const text = JSON.stringify(texts);
      if (text === this.#text) return;
      this.#text = text; // wrong ones are told once
      this.#current = parseLogSettings(texts);
      this.#log.info("the settings have changed", { output: this.#current.output.type });
    } catch (error) {
      this.#log.error("the settings cannot be used; going on with the last ones", { error: explain(error) });
    }
  }
}

/** A mounted ConfigMap has links whose names begin with dots beside its keys. */
const textsIn = (folder: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(folder)
      .filter((name) => !name.startsWith("."))
      .toSorted()
      .map((name) => [name, readFileSync(join(folder, name), "utf8")]),
  );
