import { expect, it } from "vitest";
import { listenProblem } from "./listen-problem.ts";

const SETTINGS = {
  port: { env: "PORT", default: "8080", doc: "" },
  metricsPort: { env: "METRICS_PORT", default: "", doc: "" },
};
const PORTS = [{ env: "PORT", flag: "port" }, { env: "METRICS_PORT" }];

const failed = (code: string, more: object = {}): Error =>
  Object.assign(new Error(code), { code, syscall: "listen", address: "127.0.0.1", port: 8080, ...more });
const said = (error: unknown, env = {}): string | undefined =>
  listenProblem(error, PORTS, env, SETTINGS)?.message.split("\n").join(" | ");

it.each([
  [
    "a port in use, by its default",
    failed("EADDRINUSE"),
    {},
    "port 8080 of 127.0.0.1 is in use by another process | " +
      "  which one:    ss -ltnp 'sport = :8080'    or    lsof -nP -iTCP:8080 -sTCP:LISTEN | " +
      "  another port: --port N, or set PORT",
  ],
  [
    "two of our own on one port",
    failed("EADDRINUSE"),
    { METRICS_PORT: "8080" },
    "port 8080 of 127.0.0.1 is named by two settings, PORT and METRICS_PORT: give one of them another port",
  ],
  [
    "a port of the system",
    failed("EACCES", { port: 443 }),
    { PORT: "443" },
    "this process may not listen on port 443 of 127.0.0.1: ports below 1024 are the system's |   another port: --port N, or set PORT",
  ],
  [
    "a port that no setting names",
    failed("EACCES", { port: 443, address: undefined }),
    {},
    "this process may not listen on port 443: ports below 1024 are the system's |   another port: see the settings of --help",
  ],
  [
    "an address of another machine",
    failed("EADDRNOTAVAIL", { address: "192.0.2.1" }),
    {},
    "port 8080 of 192.0.2.1 cannot be listened on: this machine does not have that address",
  ],
])("says what to do about %s", (_, error, env, words) => {
  expect(said(error, env)).toBe(words);
});

it.each([
  ["a connection that failed", failed("EADDRINUSE", { syscall: "connect" })],
  ["another code", failed("EINVAL")],
  ["no port", failed("EADDRINUSE", { port: undefined })],
  ["something else", new Error("no")],
  ["no error", "EADDRINUSE"],
])("leaves %s as it is", (_, error) => {
  expect(said(error)).toBeUndefined();
});
