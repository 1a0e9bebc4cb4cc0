import { expect, test } from "vitest";
import { CLOSE_REASONS, DEBUG_MODES as PLATFORM_MODES } from "../../contract/debug-sessions/debug-sessions.ts";
import { DEBUG_MODES } from "../operations/debug.ts";
import { DEBUG_CLOSE_REASONS, DEBUG_SESSION, DEBUG_SESSION_STATES, debugSessions } from "./debug-session.ts";
import { customResourceDefinition } from "./kind.ts";

test("modes and reasons of an end are the platform's words, so that the agent repeats them as they are", () => {
  expect(DEBUG_MODES).toEqual(PLATFORM_MODES);
  expect(DEBUG_CLOSE_REASONS).toEqual(CLOSE_REASONS);
});

const rulesOf = (schema: object): string => JSON.stringify(schema).replaceAll("__namespace__", "namespace");

test("every field of spec is frozen or write-once: a new field in neither is a hole", () => {
  const fields = Object.keys(DEBUG_SESSION.spec.properties);
  expect(fields.length).toBeGreaterThan(10);
  const transitions = rulesOf(DEBUG_SESSION.spec);
  expect(fields.filter((field) => !transitions.includes(`oldSelf.${field}`))).toEqual([]);
});

test("every state has its way on in the rules of the kind", () => {
  for (const state of DEBUG_SESSION_STATES)
    expect(rulesOf(DEBUG_SESSION.status)).toContain(`oldSelf.state == '${state}'`);
});

test("is served where its resource says", () => {
  const { metadata } = customResourceDefinition(DEBUG_SESSION) as { metadata: { name: string } };
  expect(metadata.name).toBe(`${debugSessions.plural}.${debugSessions.group}`);
});
