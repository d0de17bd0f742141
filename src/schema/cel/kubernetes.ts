// The environment that all of Kubernetes' expressions share in v1.36. Follows apiserver/pkg/cel/environment/base.go; those of
// `math`, `base64`, `cel.bind` and newer functions of strings are not in it.
import { type CelEnvironment, celEnvironment } from "./environment.ts";
import { addresses } from "./libraries/addresses.ts";
import { authorization } from "./libraries/authorization.ts";
import { conversions } from "./libraries/conversions.ts";
import { namedFormats } from "./libraries/formats.ts";
import { kubernetesLists, lists } from "./libraries/lists.ts";
import { operators } from "./libraries/operators.ts";
import { optionals } from "./libraries/optionals.ts";
import { quantities } from "./libraries/quantities.ts";
import { regularExpressions } from "./libraries/regular-expressions.ts";
import { semver } from "./libraries/semver.ts";
import { sets } from "./libraries/sets.ts";
import { strings } from "./libraries/strings.ts";
import { time } from "./libraries/time.ts";
import { twoVariableComprehensions } from "./libraries/two-variables.ts";
import { urls } from "./libraries/urls.ts";

let base: CelEnvironment | undefined;

/** What every expression may use; extend it with the variables of the place. */
export function kubernetesEnvironment(): CelEnvironment {
  base ??= celEnvironment({
    libraries: [
      operators,
      conversions,
      time,
      strings,
      regularExpressions,
      urls,
      kubernetesLists,
      authorization,
      quantities,
      sets,
      addresses,
      namedFormats,
      semver,
      lists,
      optionals,
      twoVariableComprehensions,
    ],
  });
  return base;
}
