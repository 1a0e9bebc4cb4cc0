import { WebSocketReader } from "./websocket-reader.ts";

export interface ChannelListener {
  /** Something came on a channel; not for what keeps the connection alive. */
  onAny?(): void;
  /** Part of what came on a channel of output: 1 is stdout, 2 is stderr. */
  onOutput?(channel: 1 | 2, bytes: Buffer): void;
  /** Channel 3: the JSON `Status` that a remote command ends with. */
  onStatus?(text: string): void;
  /** Channel 4, from the client. */
  onResize?(text: string): void;
}

const [STDOUT, STDERR, STATUS, RESIZE] = [1, 2, 3, 4];
/** Of a message on the channels 3 and 4. */
const MAX_TEXT = 4_096;

/**
 * The channels of `v5.channel.k8s.io`, in one direction, as they pass by. Content of stdin is never looked at.
 */
export function channelReader(listener: ChannelListener): WebSocketReader {
  let channel = -1;
  let text = Buffer.alloc(0);
  let isTooLong = false;
  return new WebSocketReader({
    onData(bytes, first, last) {
      listener.onAny?.();
      if (first) channel = -1;
      // The channel's byte may come after an empty piece.
      const content = channel === -1 ? bytes.subarray(1) : bytes;
      if (channel === -1) channel = bytes[0] ?? -1;
      if (channel === STDOUT || channel === STDERR) {
        if (content.length > 0) listener.onOutput?.(channel as 1 | 2, content);
        return;
      }
      if (channel !== STATUS && channel !== RESIZE) return;
      // A part of a text is another text: what is too long is told not at all.
      if (text.length + content.length > MAX_TEXT) isTooLong = true;
      text = isTooLong ? Buffer.alloc(0) : Buffer.concat([text, content]);
      if (!last) return;
      if (channel === STATUS && !isTooLong) listener.onStatus?.(text.toString("utf8"));
      if (channel === RESIZE && !isTooLong) listener.onResize?.(text.toString("utf8"));
      text = Buffer.alloc(0);
      isTooLong = false;
    },
  });
}

/** The exit code in the `Status` of a remote command; undefined where it says none. */
export function exitCodeOf(status: string): number | undefined {
  try {
    const value = JSON.parse(status) as {
      status?: unknown;
      details?: { causes?: readonly { reason?: unknown; message?: unknown }[] };
    };
    if (value.status === "Success") return 0;
    const cause = value.details?.causes?.find(({ reason }) => reason === "ExitCode");
    const code = Number(cause?.message);
    return Number.isInteger(code) ? code : undefined;
  } catch {
    return undefined;
  }
}
