import { get } from "node:http";

/** What is served there; empty if nothing is. */
export function page(url: string): Promise<string> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false, timeout: 30_000 }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.on("end", () => resolve(text));
      response.on("error", () => resolve(""));
    });
    request.on("timeout", () => request.destroy());
    request.on("error", () => resolve(""));
  });
}
