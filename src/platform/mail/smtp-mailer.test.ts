import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterEach, expect, it } from "vitest";
import { smtpMailer } from "./smtp-mailer.ts";

const MAIL = { to: "ada@example.com", subject: "Invitation to shop", text: "https://portal.example.com/invite/x\n" };
const never = new AbortController().signal;
let server: Server | undefined;
const sockets = new Set<Socket>();

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await new Promise<void>((resolve) => (server === undefined ? resolve() : server.close(() => resolve())));
  server = undefined;
});

/** The least of RFC 5321 that takes a mail. @param answers in the place of `250 ok`, by the command's first word. */
async function listening(answers: Readonly<Record<string, string>> = {}) {
  const heard: string[] = [];
  let inText = false;
  server = createServer((socket) => {
    sockets.add(socket);
    socket.write("220 test ESMTP\r\n");
    let rest = "";
    socket.on("data", (chunk) => {
      rest += chunk.toString();
      const lines = rest.split("\r\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        heard.push(line);
        if (inText) {
          if (line !== ".") continue;
          inText = false;
          socket.write("250 taken\r\n");
          continue;
        }
        const word = line.split(/[ :]/, 1)[0]?.toUpperCase() ?? "";
        inText = word === "DATA";
        socket.write(`${answers[word] ?? (word === "DATA" ? "354 go on" : "250 ok")}\r\n`);
      }
    });
  });
  const opened = server;
  await new Promise<void>((resolve) => opened.listen(0, "127.0.0.1", resolve));
  const { port } = opened.address() as AddressInfo;
  return { heard, url: `smtp://127.0.0.1:${port}` };
}

const from = "Sallyport <sallyport@example.com>";

it("hands the mail over to the server", async () => {
  const { heard, url } = await listening();
  await smtpMailer({ url, from }).send(MAIL, never);
  expect(heard).toContain("MAIL FROM:<sallyport@example.com>");
  expect(heard).toContain("RCPT TO:<ada@example.com>");
  expect(heard).toContain("Subject: Invitation to shop");
  expect(heard).toContain("https://portal.example.com/invite/x");
});

it("cannot be made to address another, or to add a header", async () => {
  const { heard, url } = await listening();
  const subject = "shop\r\nBcc: eve@example.com";
  await smtpMailer({ url, from }).send({ ...MAIL, subject }, never);
  expect(heard.filter((line) => /^(rcpt to|bcc)/i.test(line))).toEqual(["RCPT TO:<ada@example.com>"]);
});

it("says why it was refused, without the server's words, which name the address", async () => {
  const { url } = await listening({ RCPT: "550 ada@example.com is unknown here" });
  const sent = smtpMailer({ url, from }).send(MAIL, never);
  await expect(sent).rejects.toThrow(/^the mail server refused: EENVELOPE 550$/);
  await expect(sent).rejects.not.toHaveProperty("cause");
});

it("tells no password to a server that does not encrypt", async () => {
  const { heard, url } = await listening({ EHLO: "250-test\r\n250 AUTH PLAIN LOGIN", STARTTLS: "502 no such command" });
  const open = url.replace("smtp://", "smtp://mailer:not-a-secret@");
  await expect(smtpMailer({ url: open, from }).send(MAIL, never)).rejects.toThrow(/^the mail server refused: /);
  expect(heard.filter((line) => /^(auth|mail)/i.test(line))).toEqual([]);
});

it("says that nobody answers", async () => {
  const sent = smtpMailer({ url: "smtp://127.0.0.1:1", from }).send(MAIL, never);
  await expect(sent).rejects.toThrow(/^the mail server refused: E\w+$/);
});
