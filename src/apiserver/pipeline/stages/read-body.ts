import type { ApiRequest, RequestBody, RequestVerb, ResourceAddress } from "#wire/api-request.ts";
import type { HttpRequest } from "#wire/http.ts";
import { unsupportedMediaType } from "#wire/status.ts";
import type { YamlReader } from "#wire/yaml/reader.ts";
import { ReceivedRequest } from "../../received-request.ts";
import { isPatchType, plainPatchTypes, requestBody } from "../../request-body.ts";
import type { Resources } from "../../resources.ts";
import type { Call } from "../call.ts";
import type { Stage } from "../pipeline.ts";

/** From HTTP to what is asked of a resource. A body is read only of clients that may send it. */
export const readBodyStage = ({ readYaml, watchSeconds, resources }: ReadOptions): Stage => ({
  name: "read body",
  pass(call) {
    const { over, target } = call;
    if (!over || target.type !== "resource" || !target.verb) return undefined;
    const { address, verb } = target;
    if (methodsWithBody.has(over.http.method)) {
      checkPatchType(over.http, address, resources);
      return withBody(call, over.http, { address, verb, readYaml });
    }
    call.trace?.mark("read");
    call.request = received(call, over.http, { address, verb, body: undefined, watchSeconds });
    return undefined;
  },
});

interface ReadOptions {
  readonly resources: Resources;
  readonly readYaml?: YamlReader;
  readonly watchSeconds?: () => number;
}

/** What is built in answers to an unknown type of patch before its kind is known; custom resources name what they take. */
function checkPatchType({ method, headers }: HttpRequest, address: ResourceAddress, resources: Resources): void {
  if (method !== "PATCH" || isPatchType(headers["content-type"] ?? "")) return;
  if (resources.kindAt(address)?.model.publication.strategicPatch === false)
    throw unsupportedMediaType(plainPatchTypes);
}

const methodsWithBody: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH", "DELETE"]);

interface BodyTarget {
  readonly address: ResourceAddress;
  readonly verb: RequestVerb;
  readonly readYaml: YamlReader | undefined;
}

async function withBody(call: Call, http: HttpRequest, { address, verb, readYaml }: BodyTarget): Promise<undefined> {
  const body = requestBody(await http.body(), http.headers["content-type"] ?? "", http.method, readYaml);
  const decoded = body instanceof Promise ? await body : body;
  call.trace?.mark("read");
  call.request = received(call, http, { address, verb, body: decoded });
}

interface BodyFacts {
  readonly address: ResourceAddress;
  readonly verb: RequestVerb;
  readonly body: RequestBody | undefined;
  readonly watchSeconds?: ReadOptions["watchSeconds"];
}

function received(call: Call, http: HttpRequest, { address, verb, body, watchSeconds }: BodyFacts): ApiRequest {
  const { user, trace, audit, warnings, ticket } = call;
  const watch = verb === "watch" ? { began: ticket?.began, lastsSeconds: watchSeconds?.() } : undefined;
  return new ReceivedRequest(http, {
    user,
    address,
    verb,
    body,
    trace,
    audit,
    warn: warnings.warn,
    watch,
    ending: call,
  });
}
