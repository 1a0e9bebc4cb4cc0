import Type from "typebox";
import { DateTime, Digest, PlatformId, rules, unchanged, Words } from "../schema.ts";

/** From Starting on, a line carries the commandId that claimed it. NotStarted: claimed, and held or expired before it ran. */
const LINE_STATES = [
  "Planned",
  "Held",
  "Skipped",
  "Starting",
  "Running",
  "Succeeded",
  "Failed",
  "NotStarted",
  "Unknown",
] as const;

/** What became of one line of a plan. */
export const CommandLine = Type.Object(
  {
    index: Type.Integer({ minimum: 0, maximum: 49 }),
    state: Words(LINE_STATES),
    commandId: Type.Optional(PlatformId),
    startedAt: Type.Optional(DateTime),
    finishedAt: Type.Optional(DateTime),
    digest: Type.Optional(Digest),
    account: Type.Optional(
      Type.String({
        maxLength: 63,
        pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        description: "The ServiceAccount that it ran as.",
      }),
    ),
    resultDigest: Type.Optional(Digest),
    message: Type.Optional(Type.String({ maxLength: 1024 })),
  },
  rules(
    {
      rule: "(self.state in ['Planned', 'Held', 'Skipped']) != has(self.commandId)",
      message:
        "a line that is starting, running or finished carries the commandId that claimed it, and no other line does",
    },
    {
      rule: `!has(oldSelf.commandId) || ${unchanged("commandId")}`,
      message: "a command line is claimed once",
    },
    {
      rule: "!(oldSelf.state in ['Succeeded', 'Failed', 'NotStarted']) || self == oldSelf",
      message: "a finished command line is terminal",
    },
    {
      rule: `!has(oldSelf.startedAt) || ${unchanged("startedAt")}`,
      message: "startedAt of a command line is write-once",
    },
    {
      rule: "self.state != 'NotStarted' || !has(self.startedAt)",
      message: "a command line that did not start has no startedAt",
    },
  ),
);
