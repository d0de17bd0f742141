// Conversion by a webhook: it is sent objects of one version, and answers them in another. Follows
// apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go.
import type { CustomResourceConversion } from "#api/apiextensions/v1/custom-resource-definition.ts";
import { equal } from "#base/collections.ts";
import { isObject } from "#base/is-object.ts";
import type { Random } from "#base/random.ts";
import type { AnyKind } from "#schema/kind.ts";
import { unexpectedError } from "#wire/status.ts";
import { WebhookCallError, type WebhookClient } from "../webhook/client.ts";

type Json = Readonly<Record<string, unknown>>;

/** Objects of one version in another; they stay in their order. Throws ApiError. */
export type ConvertAll = (objects: readonly Json[], target: AnyKind) => Promise<readonly Json[]>;

export interface WebhookConversionOptions {
  readonly conversion: CustomResourceConversion;
  readonly client: WebhookClient;
  readonly random: Random;
  /** Aborts when the server stops. */
  readonly signal: AbortSignal;
}

const timeoutMs = 30_000;
/** A list of thousands is converted in one call. */
const maxBytes = 64 * 1024 * 1024;
const known = ["v1", "v1beta1"];

export function webhookConversion({ conversion, client, random, signal }: WebhookConversionOptions): ConvertAll {
  const { webhook } = conversion;
  const version = webhook?.conversionReviewVersions.find((one) => known.includes(one));
  return async (objects, target) => {
    const [first] = objects;
    if (!first) return [];
    const failed = (why: string) => unexpectedError(`conversion webhook for ${gvk(first)} ${why}`);
    if (!webhook?.clientConfig || version === undefined)
      throw failed("failed: webhook does not accept known ConversionReview versions (v1, v1beta1)");
    const uid = random.uuid();
    const apiVersion = `apiextensions.k8s.io/${version}`;
    const request = { uid, desiredAPIVersion: target.apiVersion, objects };
    const body = JSON.stringify({ kind: "ConversionReview", apiVersion, request, response: null });
    const options = { timeoutMs, maxBytes, userAgent: "kube-apiserver" };
    let answer: unknown;
    try {
      answer = await client.call(webhook.clientConfig, body, options, signal);
    } catch (error) {
      if (!(error instanceof WebhookCallError)) throw error;
      throw failed(`failed: ${error.message}`);
    }
    return converted(objects, target, responseOf(answer, apiVersion, uid, failed), failed);
  };
}

type Failed = (why: string) => Error;

/** The objects in a review that says what it should. */
function responseOf(review: unknown, apiVersion: string, uid: string, failed: Failed): readonly unknown[] {
  const { apiVersion: said, kind, response } = isObject(review) ? review : {};
  if (said !== apiVersion || kind !== "ConversionReview")
    throw failed(
      `failed: expected webhook response of ${apiVersion}, Kind=ConversionReview, got ${gvk({ apiVersion: said, kind })}`,
    );
  if (!isObject(response)) throw failed("failed: webhook response was absent");
  const { uid: answered, result, convertedObjects } = response;
  if (answered !== uid)
    throw failed(`failed: expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(answered ?? "")}`);
  const { status, message = "" } = isObject(result) ? result : {};
  if (status !== "Success")
    throw failed(`failed: ${message === "" ? `response.result.status was '${status ?? ""}', not 'Success'` : message}`);
  return Array.isArray(convertedObjects) ? convertedObjects : [];
}

function converted(objects: readonly Json[], target: AnyKind, answered: readonly unknown[], failed: Failed) {
  if (answered.length !== objects.length)
    throw failed(`returned ${answered.length} objects, expected ${objects.length}`);
  return objects.map((original, i) => {
    const object = answered[i];
    const at = `returned invalid converted object at index ${i}`;
    if (!isObject(object) || !isObject(object.metadata)) throw failed(`${at}: no object of the API`);
    if (object.apiVersion !== target.apiVersion)
      throw failed(
        `${at}: invalid groupVersion (expected ${target.apiVersion}, received ${String(object.apiVersion ?? "")})`,
      );
    if (object.kind !== original.kind)
      throw failed(`${at}: invalid kind (expected ${String(original.kind)}, received ${String(object.kind ?? "")})`);
    return { ...object, metadata: metadataFrom(original.metadata as Json, object.metadata, failed) };
  });
}

/** A webhook may change labels and annotations; all other metadata stays, and who it is must not be contradicted. */
function metadataFrom(original: Json, returned: Json, failed: Failed): Json {
  for (const field of ["name", "namespace", "uid"])
    if (!equal(original[field] ?? "", returned[field] ?? ""))
      throw failed(
        `returned invalid metadata: metadata.${field}: Invalid value: ${JSON.stringify(returned[field] ?? "")}: field is immutable`,
      );
  const { labels: _labels, annotations: _annotations, ...kept } = original;
  const { labels, annotations } = returned;
  return { ...kept, ...(isObject(labels) && { labels }), ...(isObject(annotations) && { annotations }) };
}

const gvk = ({ apiVersion, kind }: { readonly apiVersion?: unknown; readonly kind?: unknown }): string =>
  `${String(apiVersion ?? "")}, Kind=${String(kind ?? "")}`;
