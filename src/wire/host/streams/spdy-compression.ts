import { constants, createDeflate, createInflate, type Deflate, type Inflate } from "node:zlib";
import type { SpdyCompression } from "../../streams/spdy.ts";
import { spdyDictionary } from "../../streams/spdy-dictionary.ts";
import { SpdyError } from "../../streams/spdy-frames.ts";

/** What a header block may inflate to. */
const blockLimit = 64 * 1024;

/** The two zlib streams of a SPDY connection. Each block goes through in full before the next is begun. */
export function spdyCompression(): SpdyCompression {
  const dictionary = spdyDictionary();
  const deflate = createDeflate({ dictionary, flush: constants.Z_SYNC_FLUSH });
  const inflate = createInflate({ dictionary, flush: constants.Z_SYNC_FLUSH });
  return {
    deflate: (block) => through(deflate, block),
    inflate: (block) => through(inflate, block),
    close() {
      deflate.destroy();
      inflate.destroy();
    },
  };
}

function through(zlib: Deflate | Inflate, block: Uint8Array): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let size = 0;
    const settle = (act: () => void) => {
      zlib.off("data", take).off("error", failed).off("close", closed);
      act();
    };
    const failed = (cause: Error) => settle(() => reject(new SpdyError("a header block is not valid zlib", { cause })));
    const closed = () => settle(() => reject(new SpdyError("the connection was closed")));
    const take = (part: Buffer) => {
      parts.push(part);
      size += part.length;
      if (size <= blockLimit) return;
      settle(() => reject(new SpdyError(`a header block inflates to more than ${blockLimit} bytes`)));
      zlib.on("error", () => undefined).destroy(); // whoever destroys it knows why
    };
    if (zlib.destroyed) return reject(new SpdyError("the connection was closed"));
    zlib.on("data", take).once("error", failed).once("close", closed);
    // The callback comes when the block went through, but its output may still wait to be read.
    zlib.write(block, (error) => {
      if (!error) setImmediate(() => settle(() => resolve(Buffer.concat(parts))));
    });
  });
}
