import { createServer, type Socket } from "node:net";
import { inspect } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { UserSignIn } from "./user-sign-in.ts";

test("an error of a sign-in never holds the token, even when the server echoes the request in a broken header", async () => {
  const refresh = "canary-refresh-0123456789";
  let [base, asked] = ["", ""];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      asked = chunk.toString();
      const body = JSON.stringify({ issuer: base, token_endpoint: `${base}/token` });
      const head = `HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\n`;
      socket.end(
        asked.startsWith("GET ")
          ? `${head}content-length: ${body.length}\r\n\r\n${body}`
          : `${head}x ${asked.replaceAll("\r\n", " ")}: y\r\n\r\n`,
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  base = `http://127.0.0.1:${address.port}`;
  const signIn = new UserSignIn({ baseUrl: base, clientId: "cli" });
  onTestFinished(async () => {
    await signIn.close();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const error = await signIn.refresh({ access: "", refresh }, new AbortController().signal).catch((reason) => reason);
  expect(asked).toContain(refresh);
  expect(error).toMatchObject({ name: "SignInError", kind: "unreachable" });
  const printed = inspect(error, { depth: 10, showHidden: true });
  expect(printed).toContain("HPE_INVALID_HEADER_TOKEN");
  expect(printed).not.toMatch(/rawPacket|canary/);
});
