import { expect, test } from "vitest";
import { ApiError } from "../../api-client/api-error.ts";
import { ERRORS } from "../../contract/wire/errors.ts";
import { FriendlyError } from "../kernel/command.ts";
import { friendly } from "./exit-codes.ts";

const PLATFORM = "https://ada:hunter2@platform.example.com/base?x=y";

function wordsOf(error: ApiError, url = PLATFORM): readonly string[] {
  const told = friendly(error, url);
  if (!(told instanceof FriendlyError)) throw told;
  return told.message.split("\n");
}

test.each([
  [PLATFORM, "platform.example.com:443"],
  ["http://127.0.0.1:8080", "127.0.0.1:8080"],
  ["http://[::1]", "[::1]:80"],
])("where no answer came, %s is said by host and port alone", (url, words) => {
  const away = new ApiError("NETWORK_ERROR", "away: ECONNREFUSED", { status: 0, retryable: true });
  expect(wordsOf(away, url)).toEqual(["NETWORK_ERROR: away: ECONNREFUSED", `  address: ${words}`]);
});

test("an answer of the API has no address", () => {
  expect(wordsOf(new ApiError("NOT_FOUND", "none", { status: 404, retryable: false }))).toEqual(["NOT_FOUND: none"]);
});

test.each([
  ["PROJECT_REQUIRED", "  hint: add --project <id or name>"],
  ["WORKSPACE_REQUIRED", "  hint: add --workspace <name>"],
] as const)("a hint of %s names the flag, and not the API's parameter", (code, words) => {
  const { hint, message } = ERRORS[code];
  expect(wordsOf(new ApiError(code, message, { status: 400, retryable: false, hint: hint ?? "" }))[1]).toBe(words);
});
