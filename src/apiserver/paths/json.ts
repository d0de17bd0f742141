import { type HttpRequest, type HttpResponse, uncached } from "#wire/http.ts";
import { isForPerson } from "../response/form.ts";

const json = (text: string): HttpResponse => ({
  code: 200,
  headers: { "content-type": "application/json", ...uncached },
  body: text,
});

export const plainJson = (request: HttpRequest, object: object): HttpResponse =>
  isForPerson(request) ? indentedJson(object) : json(`${JSON.stringify(object)}\n`);

/** As upstream writes what people read. */
export const indentedJson = (object: object): HttpResponse => json(JSON.stringify(object, null, 2));
