import assert from "node:assert/strict";
import { test } from "node:test";
import { array, assert as assertProperty, boolean, constantFrom, integer, property, record, string } from "fast-check";
import { type JoinedLine, LineJoiner } from "./line-joiner.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const joiner = (delivered = 0, maxLineBytes = 1000) => new LineJoiner({ delivered, maxLineBytes });
const short = (lines: readonly JoinedLine[]) => lines.map(({ stream, text }) => `${stream} ${text}`);
const at = (second: number) => `2026-01-01T00:00:0${second}.000000001Z`;

test("a line in several records is one line, whatever the other stream says meanwhile", () => {
  const log = joiner();
  const text = `${at(1)} stdout P one \n${at(2)} stderr F else\n${at(3)} stdout P two \n${at(4)} stdout F three\n`;
  const lines = log.add(bytes(text));
  assert.deepEqual(short(lines), ["stderr else", "stdout one two three"]);
  assert.equal(lines[1]?.time, at(1));
  assert.equal(lines[0]?.resumeAt, 0); // the line that is not whole begins there
  assert.equal(lines[1]?.resumeAt, text.length);
});

test("a moment of another zone is told in UTC", () => {
  const [line] = joiner().add(bytes("2026-01-01T02:00:00.5+02:00 stdout F x\n"));
  assert.equal(line?.time, "2026-01-01T00:00:00.500000000Z");
});

test("what makes no sense is counted and passed over", () => {
  const log = joiner();
  const text = `nonsense\n${at(1)} stdin F x\n2026-02-30T00:00:00Z stdout F x\n${at(1)} stdout F fine\n${at(2)} stdout F torn`;
  assert.deepEqual(short(log.add(bytes(text))), ["stdout fine"]);
  log.endOfFile();
  assert.deepEqual(short(log.add(bytes(`${at(2)} stderr F next\n`))), ["stderr next"]);
  assert.equal(log.malformed, 4);
});

test("a line that is too long loses its end, and one without an end takes no memory", () => {
  const log = joiner(0, 10);
  const [line] = log.add(bytes(`${at(1)} stdout P 12345678\n${at(1)} stdout F 90abc\n`));
  assert.deepEqual([line?.text, line?.isCut], ["1234567890", true]);
  for (let i = 0; i < 100; i++) assert.deepEqual(log.add(bytes("x".repeat(100))), []);
  assert.deepEqual(short(log.add(bytes(`\n${at(1)} stdout F fine\n`))), ["stdout fine"]);
  assert.equal(log.malformed, 1);
});

test("whoever goes on after any delivered line gets each other line once", () => {
  const records = array(
    record({
      stream: constantFrom("stdout", "stderr"),
      isPartial: boolean(),
      text: string({ maxLength: 20 }).map((text) => text.replaceAll("\n", " ")),
    }),
    { minLength: 1, maxLength: 30 },
  );
  return assertProperty(
    property(records, integer({ min: 1, max: 60 }), (all, step) => {
      const log = bytes(all.map((one) => `${at(1)} ${one.stream} ${one.isPartial ? "P" : "F"} ${one.text}\n`).join(""));
      const readFrom = (from: number, delivered: number) => {
        const reader = joiner(delivered);
        reader.moveTo(from);
        const lines: JoinedLine[] = [];
        for (let i = from; i < log.length; i += step) lines.push(...reader.add(log.subarray(i, i + step)));
        return lines;
      };
      const whole = readFrom(0, 0);
      for (const [i, { resumeAt, position }] of whole.entries())
        assert.deepEqual(short(readFrom(resumeAt, position)), short(whole.slice(i + 1)));
    }),
    { numRuns: 300 },
  );
});
