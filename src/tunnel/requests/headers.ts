export type ClientHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** What goes up of an ordinary request. All else is left here: no header of the engineer's decides who they are. */
const REQUEST = ["accept", "accept-encoding", "accept-language", "content-type", "user-agent"];
/**
 * What goes up of an upgrade. `sec-websocket-extensions` is not in it: a recording is read from the passing frames,
 * which must be uncompressed.
 */
const UPGRADE = ["sec-websocket-key", "sec-websocket-version", "sec-websocket-protocol", "x-stream-protocol-version"];
const KUBECTL = /^kubectl-[a-z0-9-]{1,40}$/;
const MOST = 64;
const MOST_CHARACTERS = 4_096;
/** Visible ASCII and spaces: nothing that could end a line. */
const VALUE = /^[\x20-\x7e]*$/;

/** The headers that go up; undefined when one that would is unfit. */
export function headersUp(headers: ClientHeaders, isUpgrade: boolean): Readonly<Record<string, string>> | undefined {
  const names = Object.keys(headers);
  if (names.length > MOST) return undefined;
  const up: Record<string, string> = {};
  for (const name of names) {
    if (!(REQUEST.includes(name) || (isUpgrade && UPGRADE.includes(name)) || KUBECTL.test(name))) continue;
    const given = headers[name];
    const value = typeof given === "string" ? given : (given ?? []).join(", ");
    if (value.length > MOST_CHARACTERS || !VALUE.test(value)) return undefined;
    up[name] = value;
  }
  return up;
}

/** `kubectl --as`: it must be refused in words, because without the header it would seem to work. */
export function impersonates(headers: ClientHeaders): boolean {
  return Object.keys(headers).some((name) => name.startsWith("impersonate-"));
}
