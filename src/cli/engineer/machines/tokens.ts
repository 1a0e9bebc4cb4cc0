import { open, unlink } from "node:fs/promises";
import { counted } from "../../../base/counted.ts";
import type { JoinToken, NewJoinToken } from "../../../contract/machines/machines.ts";
import { FriendlyError, UsageError } from "../../kernel/command.ts";
import { escaped, formatOf, render } from "../../kernel/output.ts";
import type { CallRoute, Surroundings } from "../calling.ts";
import type { Typed } from "../typed.ts";
import { joinLine, NEXT_STEPS, usableFields } from "./join-line.ts";
import { secondsOf } from "./machine-flags.ts";

/** Where the secret goes: a new file for its owner alone, or standard output. */
type Place = { readonly file: string } | "out";

/** `token create` and `token rotate`. The secret is shown only where it was asked for. */
export async function mintToken(
  verb: "create" | "rotate",
  typed: Typed,
  { out, error, clock }: Surroundings,
  call: CallRoute,
  signal: AbortSignal,
): Promise<void> {
  const place = placeOf(typed);
  const format = formatOf(typed.text("output"));
  const body = { ...optionsOf(typed), ...graceOf(typed) };
  // Before the token is made: one that can be written nowhere would only count.
  const handle = place === "out" ? undefined : await created(place.file);
  try {
    const values = { params: { id: typed.words[0] ?? "" }, query: {}, body };
    const route = verb === "create" ? "createToken" : "rotateTokens";
    const made = (await call("machines", route, values, signal)) as NewJoinToken;
    const secret = made.joinString ?? made.joinToken;
    // A platform's answer ends in a line that people paste as root: it is shown only if it can do nothing else.
    const line = made.joinString === null ? null : joinLine(usableFields(made.joinString, clock.wallNow()));
    await handle?.writeFile(`${secret}\n`);
    const { id, expiresAt, maxJoins } = made.token;
    if (format !== "table") {
      const shown = place === "out" ? { joinString: secret } : place;
      out(await render({ id, expiresAt, maxJoins, pin: made.controlPlanePin, line, ...shown }, format));
      return;
    }
    const machines = maxJoins === null ? "any number of machines" : counted(maxJoins, "machine");
    error(`${escaped(`token ${id}: for ${machines}, until ${expiresAt}`, "")}\n`);
    if (place === "out") out(`${secret}\n`);
    else error(`the join string is in ${place.file}; it is a secret\n`);
    if (line === null) error("no join server has told its key: there is no line to run\n");
    else if (place === "out") error(`${line}\n${NEXT_STEPS}`);
    else {
      out(`${line}\n`);
      error(NEXT_STEPS);
    }
  } catch (thrown) {
    if (place !== "out") await unlink(place.file);
    throw thrown;
  } finally {
    await handle?.close();
  }
}

function placeOf(typed: Typed): Place {
  const file = typed.text("out");
  if ((file === undefined) === typed.has("print")) return file === undefined ? "out" : { file };
  throw new UsageError("where the join string goes: --out FILE, or --print");
}

function optionsOf(typed: Typed): object {
  const seconds = secondsOf(typed, "expires", 60);
  const joins = typed.text("max-joins");
  if (joins !== undefined && !/^[1-9][0-9]{0,3}$/.test(joins)) {
    throw new UsageError(`--max-joins is a number of machines, not ${joins}`);
  }
  return {
    ...(seconds !== undefined && { expiresInSeconds: seconds }),
    ...(joins !== undefined && { maxJoins: Number(joins) }),
  };
}

function graceOf(typed: Typed): object {
  const seconds = secondsOf(typed, "grace", 0);
  return seconds === undefined ? {} : { graceSeconds: seconds };
}

async function created(file: string) {
  return open(file, "wx", 0o600).catch((cause: unknown) => {
    const exists = cause instanceof Error && "code" in cause && cause.code === "EEXIST";
    throw new FriendlyError(exists ? `${file} exists` : `${file} cannot be written`, { cause });
  });
}

export async function listTokens(typed: Typed, { out }: Surroundings, call: CallRoute, signal: AbortSignal) {
  const values = { params: { id: typed.words[0] ?? "" }, query: {}, body: undefined };
  const { tokens } = (await call("machines", "listTokens", values, signal)) as {
    readonly tokens: readonly JoinToken[];
  };
  out(await render(tokens, formatOf(typed.text("output"))));
}

export async function revokeToken(typed: Typed, { out }: Surroundings, call: CallRoute, signal: AbortSignal) {
  const [id = "", tokenId = ""] = typed.words;
  const values = { params: { id, tokenId }, query: {}, body: undefined };
  out(await render(await call("machines", "revokeToken", values, signal), formatOf(typed.text("output"))));
}
