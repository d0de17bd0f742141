// One client with many connections, each of which lists as fast as it is answered, whatever it is told. A process of its own, so that what
// it takes to read the answers does not hold up those who measure. Arguments: port, folder of the keys, connections, path.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { RawHttp2, requestFields } from "#wire/testing/raw-http2.ts";

const [port = "", folder = "", count = "", path = ""] = process.argv.slice(2);
const [cert, key] = ["flood.crt", "flood.key"].map((name) => readFileSync(join(folder, name), "utf8"));
const target = { port: Number(port), cert: cert ?? "", key: key ?? "" };
const head = requestFields({ method: "GET", path });
/** A rejection is a short text. */
const rejectionBytes = 100;
let [lists, rejections] = [0, 0];

const connections: RawHttp2[] = [];
while (connections.length < Number(count))
  connections.push(...(await Promise.all(Array.from({ length: 50 }, () => RawHttp2.connect(target)))));

function next(connection: RawHttp2): void {
  connection.request(head, undefined, (bytes) => {
    if (bytes > rejectionBytes) lists++;
    else rejections++;
    next(connection);
  });
}
for (const connection of connections) next(connection);
process.send?.("flooding");
process.on("message", () => {
  process.send?.({ lists, rejections });
  process.exit(0);
});
