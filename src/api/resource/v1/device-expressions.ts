// What the expressions that select devices may name. Follows dynamic-resource-allocation/cel/compile.go.
import { structTypes } from "#schema/cel/declarations.ts";
import { type CelEnvironment, CompilationError, hasResultType } from "#schema/cel/environment.ts";
import { kubernetesEnvironment } from "#schema/cel/kubernetes.ts";
import { quantityType } from "#schema/cel/libraries/quantities.ts";
import { boolType, dynType, formatType, mapType, stringType, structType } from "#schema/cel/types.ts";
import { forbidden, invalid, type Problem } from "#schema/index.ts";

export const deviceType = structType("kubernetes.DRADevice");

/** What an expression may cost by estimate. */
const mostCost = 1_000_000;
/** Lists and maps of a device have at most so many entries. */
const mostEntries = 32;

/** Made at first use: most servers never see a device. */
let environment: CelEnvironment | undefined;

export function deviceEnvironment(): CelEnvironment {
  environment ??= kubernetesEnvironment().extend({
    variables: new Map([["device", deviceType]]),
    structs: structTypes(
      new Map([
        [
          deviceType.name,
          new Map([
            ["driver", stringType],
            ["allowMultipleAllocations", boolType],
            ["attributes", mapType(stringType, mapType(stringType, dynType))],
            ["capacity", mapType(stringType, mapType(stringType, quantityType))],
          ]),
        ],
      ]),
    ),
  });
  return environment;
}

export function* checkDeviceExpression(field: string, source: string): Iterable<Problem> {
  try {
    const program = deviceEnvironment().compile(source);
    const type = program.resultType;
    if (!hasResultType(program, boolType) && type.kind !== "dyn")
      yield invalid(field, `must evaluate to bool or the unknown type, not ${formatType(type)}`, source);
    else if (program.estimateCost(() => ({ min: 0, max: mostEntries })).max > mostCost)
      yield forbidden(field, "too complex, exceeds cost limit");
  } catch (error) {
    if (!(error instanceof CompilationError)) throw error;
    const detail = error.problems.length > 0 ? `compilation failed: ${error.message}` : error.message;
    yield invalid(field, detail, source);
  }
}
