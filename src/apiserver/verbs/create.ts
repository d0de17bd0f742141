import { includesUninitialized, initialized } from "../registry/initialization.ts";
import { parseWriteOptions } from "../registry/options.ts";
import { wipeSystemFields } from "../registry/prepare.ts";
import { answer, type SubresourceHandler } from "../served-resource.ts";
import { checkNamespace, decodeBody, isLargeBody } from "./body.ts";
import { tracked } from "./tracking.ts";

export const create: SubresourceHandler = async (request, served) => {
  const { kind, registry } = served;
  const options = parseWriteOptions(request, "CreateOptions");
  const decoding = decodeBody(request, kind, options);
  const { object, warnings } = decoding instanceof Promise ? await decoding : decoding;
  wipeSystemFields(object);
  checkNamespace(request, kind, object);
  const tracking = tracked(served, request, undefined, object, options, isLargeBody(request));
  const stored = tracking instanceof Promise ? await tracking : tracking;
  const created = await registry.create(request, stored, options);
  const mustWait = registry.hides?.(created.object) && !options.dryRun && !includesUninitialized(request);
  return answer(201, served, mustWait ? await initialized(registry, request, created) : created, warnings);
};
