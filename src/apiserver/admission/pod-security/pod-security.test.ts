import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { AdmissionWorld } from "../testing.ts";
import { baselineChecks } from "./baseline.ts";
import type { PodToCheck } from "./check.ts";
import { detailsText, violations } from "./evaluate.ts";
import { podSecurity } from "./pod-security.ts";
import type { Level, LevelVersion, Policy } from "./policy.ts";
import { restrictedChecks } from "./restricted.ts";

/** A pod that keeps to the restricted level, changed in its container, its own security context, its spec and its annotations. */
interface Change {
  readonly context?: object;
  readonly container?: object;
  readonly podContext?: object;
  readonly spec?: object;
  readonly annotations?: Readonly<Record<string, string>>;
}
const pod = ({ context, container, podContext, spec, annotations }: Change = {}) => ({
  metadata: { name: "p", ...(annotations && { annotations }) },
  spec: {
    securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" }, ...podContext },
    containers: [
      {
        name: "a",
        image: "i",
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] }, ...context },
        ...container,
      },
    ],
    ...spec,
  },
});

interface Case {
  readonly id: string;
  readonly level: Exclude<Level, "privileged">;
  readonly minor?: number;
  readonly passes: Change;
  readonly fails: Change;
  readonly text: string;
}

const cases: readonly Case[] = [
  {
    id: "appArmorProfile",
    level: "baseline",
    passes: { podContext: { appArmorProfile: { type: "Localhost", localhostProfile: "x" } } },
    fails: {
      podContext: { appArmorProfile: { type: "Unconfined" } },
      annotations: { "container.apparmor.security.beta.kubernetes.io/a": "unconfined" },
    },
    text: 'forbidden AppArmor profiles (pod and annotation must not set AppArmor profile type to "Unconfined", "container.apparmor.security.beta.kubernetes.io/a="unconfined"")',
  },
  {
    id: "capabilities_baseline",
    level: "baseline",
    passes: { context: { capabilities: { add: ["CHOWN"] } } },
    fails: { context: { capabilities: { add: ["SYS_ADMIN", "NET_RAW"] } } },
    text: 'non-default capabilities (container "a" must not include "NET_RAW", "SYS_ADMIN" in securityContext.capabilities.add)',
  },
  {
    id: "hostNamespaces",
    level: "baseline",
    passes: { spec: { hostNetwork: false } },
    fails: { spec: { hostNetwork: true, hostPID: true, hostIPC: true } },
    text: "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)",
  },
  {
    id: "hostPathVolumes",
    level: "baseline",
    passes: { spec: { volumes: [{ name: "v", emptyDir: {} }] } },
    fails: {
      spec: {
        volumes: [
          { name: "v", hostPath: { path: "/" } },
          { name: "w", hostPath: { path: "/" } },
        ],
      },
    },
    text: 'hostPath volumes (volumes "v", "w")',
  },
  {
    id: "hostPorts",
    level: "baseline",
    passes: { container: { ports: [{ containerPort: 80 }] } },
    fails: {
      container: {
        ports: [
          { containerPort: 80, hostPort: 80 },
          { containerPort: 81, hostPort: 8081 },
        ],
      },
    },
    text: 'hostPort (container "a" uses hostPorts 80, 8081)',
  },
  {
    id: "hostProbesAndHostLifecycle",
    level: "baseline",
    passes: { container: { livenessProbe: { httpGet: { port: 80 } } } },
    fails: { container: { lifecycle: { preStop: { httpGet: { port: 80, host: "10.0.0.1" } } } } },
    text: 'probe or lifecycle host (container "a" uses probe or lifecycle host "10.0.0.1")',
  },
  {
    id: "privileged",
    level: "baseline",
    passes: { context: { privileged: false } },
    fails: { context: { privileged: true } },
    text: 'privileged (container "a" must not set securityContext.privileged=true)',
  },
  {
    id: "procMount",
    level: "baseline",
    passes: { context: { procMount: "Unmasked" }, spec: { hostUsers: false } },
    fails: { context: { procMount: "Unmasked" } },
    text: 'procMount (container "a" must not set securityContext.procMount to "Unmasked")',
  },
  {
    id: "seLinuxOptions",
    level: "baseline",
    passes: { context: { seLinuxOptions: { type: "container_engine_t", level: "s0" } } },
    fails: { context: { seLinuxOptions: { type: "spc_t", user: "u", role: "r" } } },
    text: 'seLinuxOptions (container "a" set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set; role may not be set)',
  },
  {
    id: "seccompProfile_baseline",
    level: "baseline",
    passes: { context: { seccompProfile: { type: "Localhost", localhostProfile: "x" } } },
    fails: { podContext: { seccompProfile: { type: "Unconfined" } } },
    text: 'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
  },
  {
    id: "sysctls",
    level: "baseline",
    passes: { podContext: { sysctls: [{ name: "net.ipv4.tcp_rmem", value: "1" }] } },
    fails: {
      podContext: {
        sysctls: [
          { name: "kernel.msgmax", value: "1" },
          { name: "a.b", value: "1" },
        ],
      },
    },
    text: "forbidden sysctls (kernel.msgmax, a.b)",
  },
  {
    id: "windowsHostProcess",
    level: "baseline",
    passes: { podContext: { windowsOptions: { hostProcess: false } } },
    fails: {
      podContext: { windowsOptions: { hostProcess: true } },
      context: { windowsOptions: { hostProcess: true } },
    },
    text: 'hostProcess (pod and container "a" must not set securityContext.windowsOptions.hostProcess=true)',
  },
  {
    id: "allowPrivilegeEscalation",
    level: "restricted",
    passes: { context: { allowPrivilegeEscalation: undefined }, spec: { os: { name: "windows" } } },
    fails: { context: { allowPrivilegeEscalation: true } },
    text: 'allowPrivilegeEscalation != false (container "a" must set securityContext.allowPrivilegeEscalation=false)',
  },
  {
    id: "capabilities_restricted",
    level: "restricted",
    passes: { context: { capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE"] } } },
    fails: { context: { capabilities: { drop: ["CHOWN"], add: ["KILL"] } } },
    text: 'unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"]; container "a" must not include "KILL" in securityContext.capabilities.add)',
  },
  {
    id: "procMount_restricted",
    level: "restricted",
    passes: { context: { procMount: "Default" } },
    fails: { context: { procMount: "Unmasked" }, spec: { hostUsers: false } },
    text: 'procMount (container "a" must not set securityContext.procMount to "Unmasked")',
  },
  {
    id: "restrictedVolumes",
    level: "restricted",
    passes: { spec: { volumes: [{ name: "v", secret: { secretName: "s" } }] } },
    fails: {
      spec: {
        volumes: [
          { name: "v", nfs: { server: "s", path: "/" } },
          { name: "w", hostPath: { path: "/" } },
        ],
      },
    },
    text: 'restricted volume types (volumes "v", "w" use restricted volume types "hostPath", "nfs")',
  },
  {
    id: "runAsNonRoot",
    level: "restricted",
    passes: {
      podContext: { runAsNonRoot: undefined },
      context: { runAsNonRoot: true, allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
    },
    fails: { podContext: { runAsNonRoot: undefined } },
    text: 'runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true)',
  },
  {
    id: "runAsUser",
    level: "restricted",
    passes: { podContext: { runAsUser: 1000 } },
    fails: { podContext: { runAsUser: 0 } },
    text: "runAsUser=0 (pod must not set runAsUser=0)",
  },
  {
    id: "seccompProfile_restricted",
    level: "restricted",
    passes: { podContext: { seccompProfile: undefined }, context: { seccompProfile: { type: "RuntimeDefault" } } },
    fails: { podContext: { seccompProfile: undefined } },
    text: 'seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
  },
];

const world = new AdmissionWorld();
const made = (change: Change): PodToCheck => world.made(Pod, pod(change)) as unknown as PodToCheck;
const verdict = (at: LevelVersion, change: Change): string => detailsText(violations(at, made(change)));

describe("the checks of Pod Security", () => {
  for (const { id, level, passes, fails, text } of cases) {
    const at: LevelVersion = { level, minor: "latest" };
    test(`${level}: ${id} lets a good pod pass`, () => assert.equal(verdict(at, passes), ""));
    test(`${level}: ${id} stops a bad pod`, () => assert.equal(verdict(at, fails), text));
    test(`privileged lets what ${id} stops pass`, () =>
      assert.equal(verdict({ level: "privileged", minor: "latest" }, fails), ""));
    if (level === "baseline")
      test(`restricted stops what ${id} of the baseline stops`, () =>
        assert.notEqual(verdict({ level: "restricted", minor: "latest" }, fails), ""));
    else
      test(`baseline knows nothing of ${id}`, () => {
        const strict = ["procMount_restricted", "restrictedVolumes"].includes(id);
        if (!strict) assert.equal(verdict({ level: "baseline", minor: "latest" }, fails), "");
      });
  }

  test("each has a pod that passes and one that does not", () => {
    assert.deepEqual(
      new Set([...baselineChecks, ...restrictedChecks].map(({ id }) => id)),
      new Set(cases.map(({ id }) => id)),
    );
  });

  test("stand in the order in which upstream tells them", () => {
    for (const checks of [baselineChecks, restrictedChecks]) {
      const ids = checks.map(({ id }) => id);
      assert.deepEqual(ids, ids.toSorted());
    }
  });

  test("look at init and ephemeral containers, too", () => {
    const change = {
      spec: {
        initContainers: [{ name: "i", image: "i", securityContext: { privileged: true } }],
        ephemeralContainers: [{ name: "e", image: "i", securityContext: { privileged: true } }],
      },
    };
    assert.equal(
      verdict({ level: "baseline", minor: "latest" }, change),
      'privileged (containers "i", "e" must not set securityContext.privileged=true)',
    );
  });
});

describe("the versions of Pod Security", () => {
  const sysctl = (name: string): Change => ({ podContext: { sysctls: [{ name, value: "1" }] } });
  const rows: readonly (readonly [string, Exclude<Level, "privileged">, Change, number, boolean])[] = [
    ["reserved ports", "baseline", sysctl("net.ipv4.ip_local_reserved_ports"), 27, true],
    ["keepalive times", "baseline", sysctl("net.ipv4.tcp_keepalive_time"), 29, true],
    ["socket buffers", "baseline", sysctl("net.ipv4.tcp_rmem"), 32, true],
    ["container_engine_t", "baseline", { context: { seLinuxOptions: { type: "container_engine_t" } } }, 31, true],
    ["hosts of probes", "baseline", { container: { livenessProbe: { tcpSocket: { port: 1, host: "h" } } } }, 34, false],
    [
      "unmasked /proc with users of its own",
      "baseline",
      { context: { procMount: "Unmasked" }, spec: { hostUsers: false } },
      35,
      true,
    ],
    ["a missing seccomp profile", "restricted", { podContext: { seccompProfile: undefined } }, 19, false],
    ["user 0", "restricted", { podContext: { runAsUser: 0 } }, 23, false],
    ["escalation", "restricted", { context: { allowPrivilegeEscalation: true } }, 8, false],
    ["kept capabilities", "restricted", { context: { capabilities: undefined } }, 22, false],
  ];
  for (const [what, level, change, minor, allowed] of rows)
    test(`${what}: ${allowed ? "allowed" : "refused"} since v1.${minor}`, () => {
      assert.equal(verdict({ level, minor: minor - 1 }, change) === "", !allowed);
      assert.equal(verdict({ level, minor }, change) === "", allowed);
      assert.equal(verdict({ level, minor: 999 }, change), verdict({ level, minor: "latest" }, change));
    });

  test("old annotations counted before v1.19", () => {
    const change = { annotations: { "seccomp.security.alpha.kubernetes.io/pod": "unconfined" } };
    assert.equal(
      verdict({ level: "baseline", minor: 18 }, change),
      'seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined")',
    );
    assert.equal(verdict({ level: "baseline", minor: 19 }, change), "");
  });
});

const latest = (level: Level): LevelVersion => ({ level, minor: "latest" });
const defaults: Policy = { enforce: latest("privileged"), audit: latest("privileged"), warn: latest("privileged") };
const plugin = podSecurity({
  defaults,
  exemptions: { usernames: ["root"], namespaces: ["kube-system"], runtimeClasses: ["sandbox"] },
});
const label = (mode: string) => `pod-security.kubernetes.io/${mode}`;
const namespaced = (labels: Readonly<Record<string, string>>) => {
  const inner = new AdmissionWorld();
  for (const name of ["default", "kube-system"]) inner.have(Namespace, { metadata: { name, labels } });
  return inner;
};
const bad = pod({ context: { privileged: true } });
const why = 'privileged (container "a" must not set securityContext.privileged=true)';

describe("PodSecurity", () => {
  test("refuses a pod that violates the level of its namespace", async () => {
    const { refusal, error } = await namespaced({ [label("enforce")]: "baseline" }).admit(plugin, Pod, bad);
    assert.equal(refusal, `pods "p" is forbidden: violates PodSecurity "baseline:latest": ${why}`);
    assert.equal(error?.code, 403);
  });

  test("names the version it enforces", async () => {
    const labels = { [label("enforce")]: "baseline", [label("enforce-version")]: "v1.20" };
    const { refusal } = await namespaced(labels).admit(plugin, Pod, bad);
    assert.equal(refusal, `pods "p" is forbidden: violates PodSecurity "baseline:v1.20": ${why}`);
  });

  test("warns at the level that labels ask for", async () => {
    const { refusal, warnings } = await namespaced({ [label("warn")]: "baseline" }).admit(plugin, Pod, bad);
    assert.equal(refusal, "");
    assert.deepEqual(warnings, [`would violate PodSecurity "baseline:latest": ${why}`]);
  });

  test("takes a level that cannot be read for the strictest", async () => {
    const { refusal } = await namespaced({ [label("enforce")]: "nonsense" }).admit(plugin, Pod, bad);
    assert.match(refusal, /violates PodSecurity "restricted:latest"/);
  });

  test("warns about what makes pods, at the level that is enforced", async () => {
    const { metadata, spec } = bad;
    const deployment = {
      metadata: { name: "d" },
      spec: {
        selector: { matchLabels: { a: "b" } },
        template: { metadata: { labels: { a: "b" }, ...metadata }, spec },
      },
    };
    const { refusal, warnings } = await namespaced({ [label("enforce")]: "baseline" }).admit(
      plugin,
      Deployment,
      deployment,
    );
    assert.equal(refusal, "");
    assert.deepEqual(warnings, [`would violate PodSecurity "baseline:latest": ${why}`]);
  });

  for (const [what, object, request] of [
    ["users", bad, { user: { name: "root" } }],
    ["namespaces", bad, { namespace: "kube-system" }],
    ["runtime classes", pod({ context: { privileged: true }, spec: { runtimeClassName: "sandbox" } }), {}],
    ["updates without a new image", bad, { old: bad }],
    ["subresources that change nothing", bad, { old: pod(), subresource: "status" }],
  ] as const)
    test(`lets exempt ${what} pass`, async () => {
      const { refusal, warnings } = await namespaced({ [label("enforce")]: "baseline" }).admit(
        plugin,
        Pod,
        object,
        request,
      );
      assert.deepEqual([refusal, warnings], ["", []]);
    });

  test("judges an update that brings an image, and an ephemeral container", async () => {
    const old = pod({ context: { privileged: true }, container: { image: "other" } });
    const inner = namespaced({ [label("enforce")]: "baseline" });
    assert.match((await inner.admit(plugin, Pod, bad, { old })).refusal, /violates PodSecurity/);
    const extended = pod({
      spec: { ephemeralContainers: [{ name: "e", image: "i", securityContext: { privileged: true } }] },
    });
    const added = await inner.admit(plugin, Pod, extended, { old: pod(), subresource: "ephemeralcontainers" });
    assert.match(added.refusal, /container "e"/);
  });
});

describe("PodSecurity of namespaces", () => {
  test("refuses labels that cannot be read", async () => {
    const labels = { [label("enforce")]: "strict", [label("warn-version")]: "1.20" };
    const { refusal, error } = await new AdmissionWorld().admit(plugin, Namespace, { metadata: { name: "n", labels } });
    assert.equal(error?.code, 422);
    assert.equal(
      refusal,
      'Namespace "n" is invalid: [metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "strict": must be one of privileged, baseline, restricted, metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: "1.20": must be "latest" or "v1.x"]',
    );
  });

  test("lets labels be that could not be read before", async () => {
    const namespace = { metadata: { name: "n", labels: { [label("enforce")]: "strict" } } };
    assert.equal((await new AdmissionWorld().admit(plugin, Namespace, namespace, { old: namespace })).refusal, "");
  });

  test("tells what a stricter level would mean for the pods that are there", async () => {
    const inner = new AdmissionWorld();
    const owned = { ownerReferences: [{ apiVersion: "v1", kind: "R", name: "r", uid: "u", controller: true }] };
    for (const name of ["c", "b", "a"])
      inner.have(Pod, { ...bad, metadata: { name, namespace: "n", ...owned } } as never);
    inner.have(Pod, { ...pod({ spec: { hostPID: true } }), metadata: { name: "d", namespace: "n" } } as never);
    inner.have(Pod, { ...pod(), metadata: { name: "good", namespace: "n" } } as never);
    const next = { metadata: { name: "n", labels: { [label("enforce")]: "baseline" } } };
    const { warnings } = await inner.admit(plugin, Namespace, next, { old: { metadata: { name: "n" } } });
    assert.deepEqual(warnings, [
      'existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest"',
      "a (and 2 other pods): privileged",
      "d: host namespaces",
    ]);
    const relaxed = await inner.admit(plugin, Namespace, { metadata: { name: "n" } }, { old: next });
    assert.deepEqual(relaxed.warnings, []);
  });

  test("tells that an exempt namespace heeds no labels", async () => {
    const labels = { [label("enforce")]: "baseline", [label("audit")]: "restricted" };
    const { warnings } = await new AdmissionWorld().admit(plugin, Namespace, {
      metadata: { name: "kube-system", labels },
    });
    assert.deepEqual(warnings, [
      'namespace "kube-system" is exempt from Pod Security, and the policy (enforce=baseline:latest, audit=restricted:latest) will be ignored',
    ]);
  });
});
