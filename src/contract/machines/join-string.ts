/** What a machine needs to knock: `spj1_` and base64url of JSON. It holds the token's secret. */
export interface JoinFields {
  readonly token: string;
  readonly url: string;
  readonly clusterId: string;
  /** The join server's key, as curl's `--pinnedpubkey` takes it. */
  readonly pin: string;
  /** When the token expires: seconds since 1970, which a POSIX shell can compare. */
  readonly exp: number;
}

const PREFIX = "spj1_";

/** A join server's address: one host and a port, so that it can stand in a line that people paste. */
export const JOIN_URL = String.raw`^https://([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`;
/** SHA-256 of a public key (SPKI), base64. */
export const KEY_PIN = "^sha256//[A-Za-z0-9+/]{43}=$";
export const CLUSTER_ID = "^cluster_[0-9a-z]{28}$";

const FORMS = {
  token: /^spj_[0-9a-z]{16}\.[0-9A-Za-z]{32}$/,
  url: new RegExp(JOIN_URL),
  clusterId: new RegExp(CLUSTER_ID),
  pin: new RegExp(KEY_PIN),
} as const;

/** As the longest address allows. */
const MAX_LENGTH = 2048;

export function joinStringOf({ token, url, clusterId, pin, exp }: JoinFields): string {
  return PREFIX + Buffer.from(JSON.stringify({ token, url, clusterId, pin, exp })).toString("base64url");
}

/** Undefined when the text is no join string. Every field is checked: they end in lines that people paste. */
export function readJoinString(text: string): JoinFields | undefined {
  if (text.length > MAX_LENGTH || !/^spj1_[A-Za-z0-9_-]+$/.test(text)) return undefined;
  try {
    const fields: unknown = JSON.parse(Buffer.from(text.slice(PREFIX.length), "base64url").toString("utf8"));
    return isJoinFields(fields) ? fields : undefined;
  } catch {
    return undefined;
  }
}

/** Of the year 9999: beyond it there is no text of the time. */
const LAST_SECOND = 253_402_300_799;

function isJoinFields(value: unknown): value is JoinFields {
  if (typeof value !== "object" || value === null) return false;
  const fields = value as Readonly<Record<string, unknown>>;
  const fits = Object.entries(FORMS).every(([name, form]) => {
    const field = fields[name];
    return typeof field === "string" && form.test(field);
  });
  return fits && Number.isSafeInteger(fields.exp) && Number(fields.exp) > 0 && Number(fields.exp) <= LAST_SECOND;
}
