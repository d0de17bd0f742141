// The flags that choose and set admission plugins, named as upstream names them.
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { AdmissionSettings } from "#apiserver/admission/configuration.ts";
import { readAdmissionConfiguration } from "#apiserver/admission/configuration-file.ts";
import type { FlagValues } from "#cli/flags.ts";

export const pluginFlags = {
  "enable-admission-plugins": {
    type: "strings",
    value: "NAMES",
    help: "Admission plugins to run besides those that run anyway",
  },
  "disable-admission-plugins": {
    type: "strings",
    value: "NAMES",
    help: "Admission plugins not to run; ServiceAccount refuses pods where no controller makes service accounts",
  },
} as const;

export const admissionFlags = {
  ...pluginFlags,
  "admission-control-config-file": { type: "string", value: "FILE", help: "Settings of admission plugins" },
  "default-not-ready-toleration-seconds": {
    type: "int",
    default: 300,
    help: "How long pods stay on a node that is not ready, unless they say",
  },
  "default-unreachable-toleration-seconds": {
    type: "int",
    default: 300,
    help: "How long pods stay on a node that is not heard of, unless they say",
  },
} as const;

export function admissionSettings(settings: FlagValues<typeof admissionFlags>): AdmissionSettings {
  const file = settings["admission-control-config-file"];
  const read = (path: string, from?: string) =>
    readFileSync(from === undefined ? path : resolve(dirname(from), path), "utf8");
  return {
    enable: settings["enable-admission-plugins"],
    disable: settings["disable-admission-plugins"],
    tolerationSeconds: {
      notReady: settings["default-not-ready-toleration-seconds"],
      unreachable: settings["default-unreachable-toleration-seconds"],
    },
    ...(file !== undefined && readAdmissionConfiguration(file, read)),
  };
}
