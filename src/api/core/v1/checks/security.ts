// Security contexts of pods and containers.
// Upstream: pkg/apis/core/validation/validation.go.
import { byteLength, dns1123Subdomain, rangeMessage } from "#schema/formats.ts";
import { duplicate, invalid, notSupported, type Problem, required, tooLong } from "#schema/index.ts";
import { internalForm } from "../../../internal-form.ts";
import type { PodSpec } from "../pod-spec.ts";
import {
  type AppArmorProfile,
  type PodSecurityContext,
  SeccompProfile,
  type SecurityContext,
  type WindowsSecurityContextOptions,
} from "../security-context.ts";
import { descending } from "./paths.ts";
import { each, malformed, none } from "./problems.ts";

export function* checkSeccomp(profile: SeccompProfile): Iterable<Problem> {
  if ((profile.type as string) === "") yield required("type", "type is required when seccompProfile is set");
  if (profile.type !== "Localhost") {
    if (profile.localhostProfile !== undefined)
      yield invalid(
        "localhostProfile",
        "can only be set when seccomp type is Localhost",
        internalForm(SeccompProfile, profile),
      );
  } else if (profile.localhostProfile === undefined)
    yield required("localhostProfile", "must be set when seccomp type is Localhost");
  else yield* descending("localhostProfile", profile.localhostProfile);
}

/** PATH_MAX without the end mark. */
const mostProfileBytes = 4095;

export function* checkAppArmor({ type, localhostProfile }: AppArmorProfile): Iterable<Problem> {
  if ((type as string) === "") yield required("type", "type is required when appArmorProfile is set");
  else if (type !== "Localhost") {
    if (localhostProfile !== undefined)
      yield invalid("localhostProfile", "can only be set when AppArmor type is Localhost");
  } else if (localhostProfile === undefined || localhostProfile === "")
    yield required("localhostProfile", "must be set when AppArmor type is Localhost");
  else {
    if (localhostProfile.trim() !== localhostProfile)
      yield invalid("localhostProfile", "must not be padded with whitespace");
    if (byteLength(localhostProfile) > mostProfileBytes) yield tooLong("localhostProfile", mostProfileBytes);
  }
}

export function checkSecurity(context: SecurityContext): readonly Problem[] {
  if (context.allowPrivilegeEscalation !== false) return none;
  const found: Problem[] = [];
  if (context.privileged)
    found.push(invalid("", "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"));
  if (context.capabilities?.add?.includes("CAP_SYS_ADMIN"))
    found.push(invalid("", "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"));
  return found;
}

const mostId = 2 ** 31 - 1;
const seLinuxChangePolicies = ["MountOption", "Recursive"];

export function checkPodSecurity(context: PodSecurityContext): readonly Problem[] {
  const found: Problem[] = [];
  for (const [at, group] of each("supplementalGroups", context.supplementalGroups))
    if (group < 0 || group > mostId) found.push(invalid(at, rangeMessage(0, mostId)));
  const policy = context.seLinuxChangePolicy;
  if (policy !== undefined && !seLinuxChangePolicies.includes(policy))
    found.push(notSupported("seLinuxChangePolicy", seLinuxChangePolicies));
  return found;
}

const segment = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const sysctlSource = `^(${segment}[\\./])*${segment}$`;
const sysctlSegment = new RegExp(`^${segment}$`);
const mostSysctlBytes = 253;

/** Kernel parameters. Those that belong to a namespace shared with the host would change the host. */
export function* checkSysctls({ securityContext, hostNetwork, hostIPC }: PodSpec): Iterable<Problem> {
  const seen = new Set<string>();
  for (const [at, { name }] of each("securityContext.sysctls", securityContext.sysctls)) {
    if (name === "") yield required(`${at}.name`);
    else if (name.length > mostSysctlBytes || !name.split(/[./]/).every((part) => sysctlSegment.test(part)))
      yield invalid(`${at}.name`, `must have at most ${mostSysctlBytes} characters and match regex ${sysctlSource}`);
    else if (seen.has(name)) yield duplicate(`${at}.name`);
    seen.add(name);
    const dotted = withDots(name);
    if (hostNetwork && dotted.startsWith("net."))
      yield invalid(`${at}.name`, "may not be specified when 'hostNetwork' is true", name);
    else if (hostIPC && isIpc(dotted)) yield invalid(`${at}.name`, "may not be specified when 'hostIPC' is true", name);
  }
}

const ipcNames = /^(kernel\.shm|kernel\.msg|fs\.mqueue\.)/;
const isIpc = (name: string): boolean => name === "kernel.sem" || ipcNames.test(name);

/** Either separator may come first; if it is a slash, dots and slashes change places. */
function withDots(name: string): string {
  const first = /[./]/.exec(name)?.[0];
  if (first !== "/") return name;
  return name.replaceAll(/[./]/g, (character) => (character === "/" ? "." : "/"));
}

const mostSpecKiB = 64;
const mostDomain = 256;
const mostUser = 104;
const netBios = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const dnsLabel = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
const dnsDomain = new RegExp(`^${dnsLabel}(?:\\.${dnsLabel})*$`);
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
const control = /[\x00-\x1f\x7f]/;

export function* checkWindowsOptions(options: WindowsSecurityContextOptions): Iterable<Problem> {
  const { gmsaCredentialSpecName: specName, gmsaCredentialSpec: spec, runAsUserName: user } = options;
  if (specName !== undefined) yield* malformed("gmsaCredentialSpecName", specName, dns1123Subdomain);
  if (spec === "") yield invalid("gmsaCredentialSpec", "gmsaCredentialSpec cannot be an empty string");
  else if (spec !== undefined && byteLength(spec) > mostSpecKiB * 1024)
    yield invalid("gmsaCredentialSpec", `gmsaCredentialSpec size must be under ${mostSpecKiB} KiB`);
  for (const message of user === undefined ? [] : windowsUser(user)) yield invalid("runAsUserName", message);
}

/** `DOMAIN\user`, the domain being optional. */
function* windowsUser(name: string): Iterable<string> {
  const parts = name.split("\\");
  if (name === "") return yield "runAsUserName cannot be an empty string";
  if (control.test(name)) return yield "runAsUserName cannot contain control characters";
  if (parts.length > 2) return yield "runAsUserName cannot contain more than one backslash";
  const user = parts.at(-1) ?? "";
  const domain = parts.length === 2 ? (parts[0] ?? "") : undefined;
  if (domain !== undefined && domain.length >= mostDomain)
    yield `runAsUserName's Domain length must be under ${mostDomain} characters`;
  if (domain !== undefined && !netBios.test(domain) && !dnsDomain.test(domain))
    yield "runAsUserName's Domain doesn't match the NetBios nor the DNS format";
  if (user === "") yield "runAsUserName's User cannot be empty";
  else if (user.length > mostUser) yield `runAsUserName's User length must not be longer than ${mostUser} characters`;
  if (/^[. ]+$/.test(user)) yield "runAsUserName's User cannot contain only periods or spaces";
  if (/["/\\:;|=,+*?<>@[\]]/.test(user))
    yield "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]";
}
