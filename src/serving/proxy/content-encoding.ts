// Bodies that are compressed for the way: read, changed, and compressed again.

type Body = AsyncIterable<Uint8Array>;
type Format = "gzip" | "deflate" | "deflate-raw";

/** The body after a change to its content, in the encoding it came in; undefined if that is none that we know. */
export function changeEncoded(encoding: string, body: Body, change: (content: Body) => Body): Body | undefined {
  switch (encoding.trim().toLowerCase()) {
    case "":
    case "identity":
      return change(body);
    case "gzip":
      return recompressed("gzip", body, change);
    case "deflate":
      return deflated(body, change);
    default:
      return undefined;
  }
}

const recompressed = (format: Format, body: Body, change: (content: Body) => Body): Body =>
  through(change(through(body, new DecompressionStream(format))), new CompressionStream(format));

/** By RFC 9110 with zlib's head around it; many servers leave that out. */
async function* deflated(body: Body, change: (content: Body) => Body): AsyncGenerator<Uint8Array> {
  const parts = body[Symbol.asyncIterator]();
  const { value: first = new Uint8Array() } = await parts.next();
  const [head = 0, flags = 0] = first;
  const hasHead = (head & 0x0f) === 8 && ((head << 8) | flags) % 31 === 0;
  const whole = (async function* () {
    yield first;
    yield* { [Symbol.asyncIterator]: () => parts };
  })();
  yield* recompressed(hasHead ? "deflate" : "deflate-raw", whole, change);
}

const through = (body: Body, stream: CompressionStream | DecompressionStream): Body =>
  streamOf(body).pipeThrough(stream as unknown as ReadableWritablePair<Uint8Array, Uint8Array>);

/** Read as far as someone reads it, and given up when nobody does. */
function streamOf(body: Body): ReadableStream<Uint8Array> {
  const parts = body[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(stream) {
      const { done, value } = await parts.next();
      if (done) stream.close();
      else stream.enqueue(value);
    },
    async cancel() {
      await parts.return?.();
    },
  });
}
