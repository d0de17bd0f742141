// Kubernetes' channels over a WebSocket: each message begins with the number of its channel. In the base64 protocols that
// is a digit, the rest is base64, and messages are text; in v5 a message of 255 and a number closes that channel.
import { fromBase64, toBase64 } from "#base/base64.ts";
import type { WebSocket } from "./websocket.ts";
import { concat } from "./websocket-frames.ts";

export type ChannelEvent =
  | { readonly type: "data"; readonly channel: number; readonly data: Uint8Array }
  | { readonly type: "close"; readonly channel: number };

const closeSignal = 255;
const digitZero = 48;

const isBase64 = (protocol: string): boolean => protocol.includes("base64.");
export const closesChannels = (protocol: string): boolean => protocol === "v5.channel.k8s.io";

/** What a message says, or undefined if it says nothing we understand, which upstream passes over as well. */
export function decodeChannelMessage(protocol: string, message: Uint8Array): ChannelEvent | undefined {
  const [first] = message;
  if (first === undefined) return undefined;
  if (closesChannels(protocol) && first === closeSignal) {
    const channel = message[1];
    return channel === undefined || message.length !== 2 ? undefined : { type: "close", channel };
  }
  if (!isBase64(protocol)) return { type: "data", channel: first, data: message.subarray(1) };
  const data = fromBase64(new TextDecoder().decode(message.subarray(1)));
  return data && { type: "data", channel: first - digitZero, data };
}

export const sendOnChannel = (socket: WebSocket, protocol: string, channel: number, data: Uint8Array): Promise<void> =>
  isBase64(protocol)
    ? socket.send("text", new TextEncoder().encode(`${channel}${toBase64(data)}`))
    : socket.send("binary", concat(new Uint8Array([channel]), data));
