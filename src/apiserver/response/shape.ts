// One object in the shape that is asked for: whole, as a table, or its metadata alone.
import { PartialObjectMetadata } from "#api/meta/partial-object-metadata.ts";
import { Status } from "#api/meta/status.ts";
import { inTurns } from "#base/breathe.ts";
import { ApiError } from "#base/errors.ts";
import type { Soon } from "#base/soon.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import { partialObjectMetadata, tableOfObject } from "#schema/table.ts";
import { named, type TypedSubject } from "#wire/codec.ts";
import type { HttpResponse } from "#wire/http.ts";
import { noSuchForm, notAcceptable } from "#wire/status.ts";
import { internalType } from "../foreign-kind.ts";
import { objectTypes, type ResponseForm } from "./form.ts";
import { tableNamed } from "./list-shape.ts";

export const statusNamed: TypedSubject = { apiVersion: "v1", kind: "Status", struct: Status };

export interface ResponseShape {
  readonly named: TypedSubject;
  readonly object: object;
}

export function encode(wanted: ResponseForm, { named, object }: ResponseShape): Uint8Array {
  const { codec, pretty } = supporting(wanted, named);
  return codec.encode(named, object, { isPretty: pretty });
}

/** At once, unless the format takes long. */
export function encodedInTurns(
  head: Pick<HttpResponse, "code" | "headers">,
  wanted: ResponseForm,
  shaped: ResponseShape,
): Soon<HttpResponse> {
  const { codec } = supporting(wanted, shaped.named);
  const steps = codec.encodeSteps?.(shaped.named, shaped.object);
  return steps ? inTurns(steps).then((body) => ({ ...head, body })) : { ...head, body: encode(wanted, shaped) };
}

/** Throws ApiError 406 if the format has no form of it. */
export function supporting(wanted: ResponseForm, { struct }: TypedSubject): ResponseForm {
  if (!wanted.codec.supports(struct)) throw notAcceptable(objectTypes);
  return wanted;
}

/** Throws ApiError if what is asked for is a form of lists: one object has none. */
export function refuseFormOfLists(kind: AnyKind, { isOfLists }: ResponseForm): void {
  if (!isOfLists) return;
  if (kind.model.publication.isUnstructured)
    throw new ApiError({ code: 500, reason: "", message: "content is not a list" });
  throw noSuchForm(
    `you requested PartialObjectMetadataList, but the requested object is not a list (*${internalType(kind)})`,
  );
}

/** One object in the shape asked for. */
export function shaped(kind: AnyKind, object: ApiObject, wanted: ResponseForm, now: number): ResponseShape {
  const { as, metaVersion, includeObject } = wanted;
  refuseFormOfLists(kind, wanted);
  switch (as) {
    case "object":
      return { named: named(kind), object };
    case "metadata":
      return {
        named: { apiVersion: metaVersion, kind: "PartialObjectMetadata", struct: PartialObjectMetadata },
        object: partialObjectMetadata(object, metaVersion),
      };
    case "table":
      return {
        named: tableNamed(metaVersion),
        object: tableOfObject(kind, object, { apiVersion: metaVersion, includeObject, now }),
      };
  }
}
