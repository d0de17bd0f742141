import { dns1123Label, dns1123Subdomain, labelValue, qualifiedName } from "#schema/formats.ts";
import {
  bool,
  type Infer,
  inline,
  int64,
  invalid,
  list,
  map,
  type Problem,
  rawExtension,
  ref,
  required,
  string,
  struct,
} from "#schema/index.ts";
import { driverName, mostDriverNameBytes } from "../../storage/v1/checks.ts";
import { checkFullName, checkRaw, checkRequestName, checkSet, most, requestNames } from "./checks.ts";
import { checkDeviceExpression } from "./device-expressions.ts";

export const CELDeviceSelector = struct(
  "resource/v1.CELDeviceSelector",
  {
    expression: string(1, "A CEL expression that is true of devices that fit; they are called device.")
      .maxLength(most.expressionBytes)
      .required(),
  },
  {
    *check({ expression = "" }) {
      yield* checkDeviceExpression("expression", expression);
    },
  },
);
export interface CELDeviceSelector extends Infer<typeof CELDeviceSelector> {}

export const CapacityRequirements = struct("resource/v1.CapacityRequirements", {
  requests: map(1, "quantity", "How much of each capacity is asked for."),
});
export interface CapacityRequirements extends Infer<typeof CapacityRequirements> {}

export const DeviceSelector = struct("resource/v1.DeviceSelector", {
  cel: ref(1, CELDeviceSelector, "Selects devices by an expression.").nonEmpty(),
});
export interface DeviceSelector extends Infer<typeof DeviceSelector> {}

export const DeviceToleration = struct(
  "resource/v1.DeviceToleration",
  {
    key: string(1, "The taint to tolerate; all if empty.").is(qualifiedName),
    operator: string(2, "Whether the value must be Equal or the taint only exist (Exists).")
      .oneOf("Equal", "Exists")
      .default("Equal"),
    value: string(3, "The value of the taint."),
    effect: string(4, "The effect to tolerate; all if empty.").oneOf("NoExecute", "NoSchedule", "None"),
    tolerationSeconds: int64(5, "How long to tolerate NoExecute; for ever if absent.").pointer(),
  },
  {
    *check({ operator, value = "" }) {
      if (operator === "Exists" && value !== "") yield invalid("value", "must be empty for operator `Exists`");
      if (operator === "Equal") for (const detail of labelValue(value)) yield invalid("value", detail, value);
    },
  },
);
export interface DeviceToleration extends Infer<typeof DeviceToleration> {}

interface Counted {
  readonly allocationMode: string;
  readonly count?: number | undefined;
}

/** Who asks for devices gets one, unless they say otherwise. */
function oneUnlessTold(request: { allocationMode: string; count?: number | undefined }): void {
  if (request.allocationMode === "ExactCount") request.count ||= 1;
}

function* checkCount({ allocationMode, count = 0 }: Counted): Iterable<Problem> {
  if (allocationMode === "All" && count !== 0)
    yield invalid("count", "must not be specified when allocationMode is 'All'");
  if (allocationMode === "ExactCount" && count <= 0) yield invalid("count", "must be greater than zero");
}

export const ExactDeviceRequest = struct(
  "resource/v1.ExactDeviceRequest",
  {
    deviceClassName: string(1, "The class of devices asked for.").nonEmpty().is(dns1123Subdomain).required(),
    selectors: list(2, DeviceSelector, "What the devices must be like, besides what the class says.").maxItems(
      most.selectors,
    ),
    allocationMode: string(3, "Whether to get a number of devices (ExactCount) or all that fit (All).")
      .oneOf("All", "ExactCount")
      .default("ExactCount"),
    count: int64(4, "How many devices to get."),
    adminAccess: bool(5, "Whether the devices may be in use by others, for looking after them.").pointer(),
    tolerations: list(6, DeviceToleration, "Taints of devices that are tolerated."),
    capacity: ref(7, CapacityRequirements, "How much of each device is asked for."),
  },
  {
    complete: oneUnlessTold,
    *check(request) {
      yield* checkCount(request);
    },
  },
);
export interface ExactDeviceRequest extends Infer<typeof ExactDeviceRequest> {}

export const DeviceSubRequest = struct(
  "resource/v1.DeviceSubRequest",
  {
    name: string(1, "Name of the alternative.").is(dns1123Label).required(),
    deviceClassName: string(2, "The class of devices asked for.").nonEmpty().is(dns1123Subdomain).required(),
    selectors: list(3, DeviceSelector, "What the devices must be like, besides what the class says.").maxItems(
      most.selectors,
    ),
    allocationMode: string(4, "Whether to get a number of devices (ExactCount) or all that fit (All).")
      .oneOf("All", "ExactCount")
      .default("ExactCount"),
    count: int64(5, "How many devices to get."),
    tolerations: list(6, DeviceToleration, "Taints of devices that are tolerated."),
    capacity: ref(7, CapacityRequirements, "How much of each device is asked for."),
  },
  {
    complete: oneUnlessTold,
    *check(request) {
      if (request.name === "") for (const detail of dns1123Label("")) yield invalid("name", detail);
      yield* checkCount(request);
    },
  },
);
export interface DeviceSubRequest extends Infer<typeof DeviceSubRequest> {}

export const DeviceRequest = struct(
  "resource/v1.DeviceRequest",
  {
    name: string(1, "Name of the request, for others to refer to.").required(),
    exactly: ref(2, ExactDeviceRequest, "What is asked for."),
    firstAvailable: list(3, DeviceSubRequest, "Alternatives, the first of which that can be had is taken."),
  },
  {
    *check({ name, exactly, firstAvailable = [] }) {
      for (const detail of dns1123Label(name)) yield invalid("name", detail);
      const words = "exactly one of `exactly` or `firstAvailable` is required";
      if (!exactly && firstAvailable.length === 0) yield required("", words);
      if (exactly && firstAvailable.length > 0) yield invalid("", `${words}, but multiple fields are set`, null);
      yield* checkSet(
        "firstAvailable",
        firstAvailable.map((one) => one.name),
        most.alternatives,
      );
    },
  },
);
export interface DeviceRequest extends Infer<typeof DeviceRequest> {}

export const DeviceConstraint = struct(
  "resource/v1.DeviceConstraint",
  {
    requests: list(1, "string", "Requests whose devices must meet the constraint; all if empty."),
    matchAttribute: string(2, "An attribute that all devices must have the same value of.").pointer(),
    distinctAttribute: string(3, "An attribute that all devices must have different values of.").pointer(),
  },
  {
    *check({ matchAttribute, distinctAttribute }) {
      if (matchAttribute !== undefined) yield* checkFullName("matchAttribute", matchAttribute);
      else if (distinctAttribute !== undefined) yield* checkFullName("distinctAttribute", distinctAttribute);
      else
        yield required(
          "",
          'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set',
        );
    },
  },
);
export interface DeviceConstraint extends Infer<typeof DeviceConstraint> {}

export const OpaqueDeviceConfiguration = struct(
  "resource/v1.OpaqueDeviceConfiguration",
  {
    driver: string(1, "The driver that understands the parameters.")
      .nonEmpty()
      .maxLength(mostDriverNameBytes)
      .is(driverName)
      .required(),
    parameters: rawExtension(2, "Settings that only the driver understands.").required(),
  },
  {
    *check({ parameters }) {
      yield* checkRaw("parameters", parameters, most.parameterBytes);
    },
  },
);
export interface OpaqueDeviceConfiguration extends Infer<typeof OpaqueDeviceConfiguration> {}

export const DeviceConfiguration = struct("resource/v1.DeviceConfiguration", {
  opaque: ref(1, OpaqueDeviceConfiguration, "Settings that only a driver understands.").nonEmpty(),
});
export interface DeviceConfiguration extends Infer<typeof DeviceConfiguration> {}

export const DeviceClaimConfiguration = struct("resource/v1.DeviceClaimConfiguration", {
  requests: list(1, "string", "Requests that the settings are for; all if empty."),
  ...inline(2, DeviceConfiguration),
});
export interface DeviceClaimConfiguration extends Infer<typeof DeviceClaimConfiguration> {}

export const DeviceClaim = struct(
  "resource/v1.DeviceClaim",
  {
    requests: list(1, DeviceRequest, "What is asked for.").always(),
    constraints: list(2, DeviceConstraint, "What must be true of the devices taken together.").maxItems(
      most.constraints,
    ),
    config: list(3, DeviceClaimConfiguration, "Settings for the devices.").maxItems(most.config),
  },
  {
    *check(claim): Iterable<Problem> {
      const names = requestNames(claim);
      yield* checkSet(
        "requests",
        claim.requests.map(({ name }) => name),
        most.requests,
      );
      for (const list of ["constraints", "config"] as const)
        for (const [i, { requests = [] }] of (claim[list] ?? []).entries()) {
          yield* checkSet(`${list}[${i}].requests`, requests, most.requests);
          for (const [j, name] of requests.entries())
            yield* checkRequestName(`${list}[${i}].requests[${j}]`, name, names);
        }
    },
  },
);
export interface DeviceClaim extends Infer<typeof DeviceClaim> {}
