import { readFileSync } from "node:fs";
import { hasCode } from "../errors.ts";

/** Whether the kernel confines processes by AppArmor. */
export function hasAppArmor(parameter = "/sys/module/apparmor/parameters/enabled"): boolean {
  try {
    return readFileSync(parameter, "utf8").startsWith("Y");
  } catch (error) {
    if (hasCode(error, "ENOENT")) return false; // it was built without
    throw error;
  }
}
