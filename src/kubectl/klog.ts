// The text format of klog, in which a real kubectl logs.
import type { Clock } from "#base/clock.ts";

/** `severity` is information, a warning, an error or what ends the program; `place` is where upstream logs it. */
export function klogLine(clock: Clock, severity: "I" | "W" | "E" | "F", place: string, text: string): string {
  const at = new Date(clock.now());
  const two = (value: number) => String(value).padStart(2, "0");
  const date = `${two(at.getMonth() + 1)}${two(at.getDate())}`;
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, "0")}000`;
  return `${severity}${date} ${time} ${String(process.pid).padStart(7)} ${place}] ${text}\n`;
}
