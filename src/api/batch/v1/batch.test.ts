import assert from "node:assert/strict";
import { test } from "node:test";
import { tableOfObject } from "#schema/table.ts";
import { changed, defaulted, problemsOf, statusProblemsOf } from "../../testing/rules.ts";
import { CronJob } from "./cron-job.ts";
import { Job } from "./job.ts";
import { parseSchedule } from "./schedule.ts";

const template = {
  metadata: { labels: { app: "sum" } },
  spec: { restartPolicy: "Never", containers: [{ name: "sum", image: "sum:1" }] },
};
const job = { spec: { manualSelector: true, selector: { matchLabels: { app: "sum" } }, template } };
const indexed = changed(job, { "spec.completionMode": "Indexed", "spec.completions": 5, "spec.parallelism": 5 });

const specOf = (object: Record<string, unknown>) => object.spec as Record<string, unknown>;

test("a job with no numbers runs one pod, and six more when that fails", () => {
  const full = defaulted(Job, { spec: { template } });
  const { completions, parallelism, backoffLimit, completionMode, suspend, podReplacementPolicy, manualSelector } =
    specOf(full);
  assert.deepEqual(
    { completions, parallelism, backoffLimit, completionMode, suspend, podReplacementPolicy, manualSelector },
    {
      completions: 1,
      parallelism: 1,
      backoffLimit: 6,
      completionMode: "NonIndexed",
      suspend: false,
      podReplacementPolicy: "TerminatingOrFailed",
      manualSelector: false,
    },
  );
  assert.deepEqual((full.metadata as { labels: unknown }).labels, { app: "sum" });
});

test("the defaults of a job depend on what it says", () => {
  const given = (more: Record<string, unknown>) => specOf(defaulted(Job, { spec: { template, ...more } }));
  assert.equal(given({ parallelism: 2 }).completions, undefined);
  assert.equal(given({ completions: 2 }).parallelism, 1);
  assert.equal(given({ backoffLimitPerIndex: 1 }).backoffLimit, 2147483647);
  assert.equal(given({ podFailurePolicy: { rules: [] } }).podReplacementPolicy, "Failed");
});

test("the template of a cron job is left without the defaults of a job", () => {
  const full = defaulted(CronJob, { spec: { schedule: "* * * * *", jobTemplate: { spec: { template } } } });
  const { jobTemplate, ...spec } = specOf(full) as { jobTemplate: { spec: Record<string, unknown> } };
  assert.deepEqual(spec, {
    schedule: "* * * * *",
    concurrencyPolicy: "Allow",
    suspend: false,
    successfulJobsHistoryLimit: 3,
    failedJobsHistoryLimit: 1,
  });
  assert.deepEqual(Object.keys(jobTemplate.spec), ["template"]);
});

test("plain jobs are valid", () => {
  for (const one of [job, indexed]) {
    assert.deepEqual(problemsOf(Job, one), []);
    assert.deepEqual(problemsOf(Job, one, one), []);
  }
});

const exits = (rule: Record<string, unknown>) => ({
  "spec.podFailurePolicy": { rules: [{ action: "FailJob", ...rule }] },
});
const rule = "spec.podFailurePolicy.rules[0]";

const jobRules: readonly [string, Record<string, unknown>, readonly string[]][] = [
  [
    "negative numbers",
    { "spec.parallelism": -1 },
    ["spec.parallelism: Invalid value: -1: must be greater than or equal to 0"],
  ],
  [
    "no selector",
    { "spec.selector": undefined },
    [
      "spec.selector: Required value",
      'spec.template.metadata.labels: Invalid value: {"app":"sum"}: `selector` does not match template `labels`',
    ],
  ],
  [
    "pods that always restart",
    { "spec.template.spec.restartPolicy": "Always" },
    ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
  ],
  [
    "a limit per index of a job without indexes",
    { "spec.maxFailedIndexes": 1, "spec.backoffLimitPerIndex": 1 },
    [
      "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
      "spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode",
    ],
  ],
  [
    "an unknown completion mode",
    { "spec.completionMode": "Sorted" },
    ['spec.completionMode: Unsupported value: "Sorted": supported values: "NonIndexed", "Indexed"'],
  ],
  [
    "a manager without a domain",
    { "spec.managedBy": "me" },
    ['spec.managedBy: Invalid value: "me": must be a domain-prefixed path (such as "acme.io/foo")'],
  ],
  [
    "a failure rule that fits nothing",
    exits({}),
    [`${rule}: Invalid value: specifying one of OnExitCodes and OnPodConditions is required`],
  ],
  [
    "exit codes that make no sense",
    exits({ onExitCodes: { operator: "In", containerName: "x", values: [3, 0, 3] } }),
    [
      `${rule}.onExitCodes.containerName: Invalid value: "x": must be one of the container or initContainer names in the pod template`,
      `${rule}.onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator`,
      `${rule}.onExitCodes.values[2]: Duplicate value: 3`,
      `${rule}.onExitCodes.values: Invalid value: [3,0,3]: must be ordered`,
    ],
  ],
  [
    "an unknown action",
    exits({ action: "Panic", onPodConditions: [{ type: "DisruptionTarget" }] }),
    [`${rule}.action: Unsupported value: "Panic": supported values: "Count", "FailIndex", "FailJob", "Ignore"`],
  ],
  [
    "another replacement than Failed beside a failure policy",
    {
      ...exits({ onPodConditions: [{ type: "DisruptionTarget" }] }),
      "spec.podReplacementPolicy": "TerminatingOrFailed",
    },
    ['spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"'],
  ],
  [
    "a success policy without indexes",
    { "spec.successPolicy": { rules: [{ succeededCount: 1 }] } },
    ['spec.successPolicy: Invalid value: {"rules":[{"succeededCount":1}]}: requires indexed completion mode'],
  ],
];
for (const [what, change, problems] of jobRules)
  test(`a job refuses ${what}`, () => assert.deepEqual(problemsOf(Job, changed(job, change)), problems));

const successRules: readonly [Record<string, unknown>, readonly string[]][] = [
  [{ succeededIndexes: "0,2-3", succeededCount: 3 }, []],
  [
    {},
    [
      "spec.successPolicy.rules[0]: Required value: at least one of succeededCount or succeededIndexes must be specified",
    ],
  ],
  [
    { succeededIndexes: "3,1" },
    [
      'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "3,1": error parsing succeededIndexes: non-increasing order, previous: 3, current: 1',
    ],
  ],
  [
    { succeededIndexes: "5" },
    [
      'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "5": error parsing succeededIndexes: too large index: "5"',
    ],
  ],
  [
    { succeededIndexes: "0-1", succeededCount: 3 },
    [
      "spec.successPolicy.rules[0].succeededCount: Invalid value: 3: must be less than or equal to 2 (the number of indexes in the specified succeededIndexes field)",
    ],
  ],
];
for (const [given, problems] of successRules)
  test(`an indexed job may succeed by ${JSON.stringify(given)}: ${problems.length === 0}`, () =>
    assert.deepEqual(problemsOf(Job, changed(indexed, { "spec.successPolicy": { rules: [given] } })), problems));

test("a job must find the labels and the selector that the server made", () => {
  const uid = "u1";
  const labels = {
    "controller-uid": uid,
    "job-name": "example",
    "batch.kubernetes.io/controller-uid": uid,
    "batch.kubernetes.io/job-name": "example",
  };
  const made = {
    metadata: { uid },
    spec: {
      selector: { matchLabels: { "batch.kubernetes.io/controller-uid": uid } },
      template: { ...template, metadata: { labels } },
    },
  };
  assert.deepEqual(problemsOf(Job, made), []);
  assert.deepEqual(
    problemsOf(Job, {
      ...made,
      spec: { ...made.spec, template: { ...template, metadata: { labels: { ...labels, "job-name": "x" } } } },
    }),
    [
      `spec.template.metadata.labels[job-name]: Invalid value: ${JSON.stringify({ ...labels, "job-name": "x" })}: must be 'example'`,
    ],
  );
});

test("a job that runs keeps its template; one that is suspended may move elsewhere", () => {
  const elsewhere = changed(job, { "spec.template.spec.nodeSelector": { disk: "fast" } });
  const [problem] = problemsOf(Job, elsewhere, job);
  assert.match(problem ?? "", /^spec\.template: Invalid value: .*: field is immutable$/);
  const paused = { "spec.suspend": true };
  assert.deepEqual(problemsOf(Job, changed(elsewhere, paused), changed(job, paused)), []);
  const resources = changed(job, { "spec.template.spec.containers.0.resources": { requests: { cpu: "1" } } });
  assert.deepEqual(problemsOf(Job, changed(resources, paused), changed(job, paused)), []);
  const image = changed(job, { "spec.template.spec.containers.0.image": "other:1" });
  assert.match(
    problemsOf(Job, changed(image, paused), changed(job, paused))[0] ?? "",
    /^spec\.template\.spec: Invalid/,
  );
});

test("completions change only together with parallelism, and only of an indexed job", () => {
  assert.deepEqual(problemsOf(Job, changed(job, { "spec.completions": 2 }), changed(job, { "spec.completions": 1 })), [
    "spec.completions: Invalid value: 2: field is immutable",
  ]);
  assert.deepEqual(problemsOf(Job, changed(indexed, { "spec.completions": 3 }), indexed), [
    "spec.completions: Invalid value: 3: can only be modified in tandem with spec.parallelism",
  ]);
  assert.deepEqual(problemsOf(Job, changed(indexed, { "spec.completions": 3, "spec.parallelism": 3 }), indexed), []);
});

const holds = (...types: string[]) => types.map((type) => ({ type, status: "True" }));
const statusRules: readonly [string, Record<string, unknown>, Record<string, unknown>, readonly string[]][] = [
  [
    "success needs its criteria, its time and its start",
    { conditions: holds("Complete") },
    {},
    [
      "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
      "status.completionTime: Required value: completionTime is required for Complete jobs",
      "status.startTime: Required value: startTime is required for finished job",
    ],
  ],
  [
    "a proper end is accepted",
    {
      conditions: holds("SuccessCriteriaMet", "Complete"),
      startTime: "2026-01-01T00:00:00Z",
      completionTime: "2026-01-01T00:01:00Z",
      succeeded: 1,
    },
    { startTime: "2026-01-01T00:00:00Z", active: 1 },
    [],
  ],
  [
    "an end is final",
    {},
    { conditions: holds("FailureTarget", "Failed"), failed: 1 },
    [
      "status.conditions: Invalid value: cannot disable the terminal Failed=True condition",
      "status.conditions: Invalid value: cannot disable the terminal FailureTarget=True condition",
      "status.failed: Invalid value: 0: cannot decrease the failed counter",
    ],
  ],
  [
    "no more pods are ready than are active",
    { active: 1, ready: 2 },
    {},
    ["status.ready: Invalid value: 2: cannot set more ready pods than active"],
  ],
  [
    "indexes need an indexed job",
    { completedIndexes: "0", failedIndexes: "0" },
    {},
    [
      'status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when non-indexed completion mode',
      'status.failedIndexes: Invalid value: "0": cannot set non-null failedIndexes when backoffLimitPerIndex is null',
      'status.failedIndexes: Invalid value: "0": failedIndexes and completedIndexes overlap at index: 0',
    ],
  ],
];
for (const [what, status, old, problems] of statusRules)
  test(`of a job's status: ${what}`, () =>
    assert.deepEqual(statusProblemsOf(Job, { ...job, status }, { ...job, status: old }), problems));

const cron = { spec: { schedule: "*/5 * * * *", jobTemplate: { spec: { template } } } };
const cronRules: readonly [string, Record<string, unknown>, readonly string[]][] = [
  ["no schedule", { "spec.schedule": "" }, ["spec.schedule: Required value"]],
  [
    "a schedule that only repeats itself",
    { "spec.schedule": `${"*,".repeat(3000)}* * * * *` },
    [`spec.schedule: Invalid value: "${"*,".repeat(3000)}* * * * *": may not be more than 4096 bytes`],
  ],
  [
    "a schedule of four fields",
    { "spec.schedule": "* * * *" },
    ['spec.schedule: Invalid value: "* * * *": expected exactly 5 fields, found 4: [* * * *]'],
  ],
  [
    "a time zone in the schedule",
    { "spec.schedule": "TZ=UTC 0 * * * *" },
    [
      'spec.schedule: Invalid value: "TZ=UTC 0 * * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
    ],
  ],
  [
    "an unknown time zone",
    { "spec.timeZone": "Mars/Base" },
    ['spec.timeZone: Invalid value: "Mars/Base": unknown time zone Mars/Base'],
  ],
  [
    "the time zone of the machine",
    { "spec.timeZone": "Local" },
    [
      'spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones',
    ],
  ],
  [
    "an unknown concurrency",
    { "spec.concurrencyPolicy": "Sometimes" },
    ['spec.concurrencyPolicy: Unsupported value: "Sometimes": supported values: "Allow", "Forbid", "Replace"'],
  ],
  [
    "a selector of its own",
    { "spec.jobTemplate.spec.selector": {}, "spec.jobTemplate.spec.manualSelector": true },
    [
      "spec.jobTemplate.spec.selector: Invalid value: {}: `selector` will be auto-generated",
      'spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"',
    ],
  ],
  [
    "a name that leaves no room for the jobs' suffix",
    { "metadata.name": "x".repeat(53) },
    [`metadata.name: Invalid value: "${"x".repeat(53)}": must be no more than 52 characters`],
  ],
];
test("a plain cron job is valid, in any time zone", () => {
  assert.deepEqual(problemsOf(CronJob, cron), []);
  assert.deepEqual(problemsOf(CronJob, changed(cron, { "spec.timeZone": "Europe/Oslo" })), []);
});
for (const [what, change, problems] of cronRules)
  test(`a cron job refuses ${what}`, () => assert.deepEqual(problemsOf(CronJob, changed(cron, change)), problems));

const schedules: readonly [string, string | undefined][] = [
  ["0 0 * * sun-TUE", undefined],
  ["1,2,30-40/5 */2 1 jan *", undefined],
  ["@hourly", undefined],
  ["@every 1h30m", undefined],
  ["@often", "unrecognized descriptor: @often"],
  ["@every x", 'failed to parse duration @every x: time: invalid duration "x"'],
  ["60 * * * *", "end of range (60) above maximum (59): 60"],
  ["* * 0 * *", "beginning of range (0) below minimum (1): 0"],
  ["5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"],
  ["*/0 * * * *", "step of range should be a positive number: */0"],
  ["a * * * *", 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'],
  ["1-2-3 * * * *", "too many hyphens: 1-2-3"],
  ["*/1/2 * * * *", "too many slashes: */1/2"],
];
for (const [text, problem] of schedules)
  test(`the schedule ${text} is ${problem === undefined ? "fine" : "refused"}`, () => {
    if (problem === undefined) assert.ok(parseSchedule(text));
    else assert.throws(() => parseSchedule(text), { message: problem });
  });

test("a schedule knows its times", () => {
  const times = parseSchedule("0-10/5 6 * * mon");
  assert.ok("minutes" in times);
  assert.deepEqual([...times.minutes], [0, 5, 10]);
  assert.deepEqual([...times.weekdays], [1]);
  assert.equal(times.anyDay, true);
  assert.equal(times.anyWeekday, false);
});

test("a row of a job and of a cron job", () => {
  const now = Date.parse("2026-01-01T01:00:00Z");
  const metadata = { name: "x", creationTimestamp: "2026-01-01T00:00:00Z" };
  const done = defaulted(Job, {
    ...job,
    metadata,
    status: {
      conditions: holds("Complete"),
      succeeded: 1,
      startTime: "2026-01-01T00:00:00Z",
      completionTime: "2026-01-01T00:00:07Z",
    },
  });
  assert.deepEqual(tableOfObject(Job, done as never, { now }).rows[0]?.cells, [
    "x",
    "Complete",
    "1/1",
    "7s",
    "60m",
    "sum",
    "sum:1",
    "app=sum",
  ]);
  const often = defaulted(CronJob, { ...cron, metadata, status: { lastScheduleTime: "2026-01-01T00:59:30Z" } });
  assert.deepEqual(tableOfObject(CronJob, often as never, { now }).rows[0]?.cells, [
    "x",
    "*/5 * * * *",
    "<none>",
    "False",
    0,
    "30s",
    "60m",
    "sum",
    "sum:1",
    "<none>",
  ]);
});
