// What runs in the thread of its own: texts in, JSON out, one after another.
import { parentPort } from "node:worker_threads";
import { ApiError } from "#base/errors.ts";
import { DecodeError, decodeUtf8 } from "#schema/json.ts";
import { parseYaml } from "../yaml/read.ts";
import type { YamlAnswer, YamlJob } from "./yaml-thread.ts";

parentPort?.on("message", (job: YamlJob) => parentPort?.postMessage(answer(job)));

function answer({ bytes, mostValues }: YamlJob): YamlAnswer {
  try {
    const { exactValue, duplicates } = parseYaml(decodeUtf8(bytes), mostValues);
    return { json: JSON.stringify(exactValue()), duplicates };
  } catch (error) {
    if (error instanceof DecodeError) return { problem: error.message };
    if (error instanceof ApiError) return { isTooMuch: true };
    throw error;
  }
}
