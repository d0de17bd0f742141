import { type HttpResponse, isStream } from "#wire/http.ts";

export async function* bytesOf(body: HttpResponse["body"]): AsyncGenerator<Uint8Array> {
  if (typeof body === "string") yield new TextEncoder().encode(body);
  else if (body instanceof Uint8Array) yield body;
  else if (isStream(body)) yield* body;
  else yield* body;
}

/** How much of a refusal is read. */
const textLimit = 50_000;

/** The beginning of a body, for messages. The rest is not waited for. */
export async function textOf(body: HttpResponse["body"]): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of bytesOf(body)) {
    text += decoder.decode(part, { stream: true });
    if (text.length > textLimit) break;
  }
  return text.slice(0, textLimit);
}
