import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { type ClientRequest, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { newSite, type Site } from "../areas/deployments/testing/site.ts";
import { onEachDatabase } from "../testing/harness.ts";

const folder = mkdtempSync(join(tmpdir(), "uploads-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Bytes of the upload that has come furthest, as they lie on the disk. */
function largestPartial(): number {
  const files = readdirSync(join(folder, ".partial")).map((name) => statSync(join(folder, ".partial", name)).size);
  return Math.max(0, ...files);
}

interface Told {
  readonly status: number | undefined;
  readonly body: { readonly code?: string; readonly context?: { readonly budget?: string } };
}

/** An upload whose bytes come when the test says so. */
class Upload {
  readonly #request: ClientRequest;
  readonly answer: Promise<Told>;

  constructor(url: string, size: number) {
    const headers = { "content-type": "application/zip", "content-length": String(size) };
    this.#request = request(url, { method: "PUT", headers, agent: false });
    this.#request.on("error", () => undefined);
    this.answer = once(this.#request, "response").then(async ([response]) => {
      let text = "";
      for await (const chunk of response) text += String(chunk);
      return { status: response.statusCode, body: text === "" ? {} : JSON.parse(text) };
    });
    this.answer.catch(() => undefined);
  }

  async send(bytes: number): Promise<this> {
    await new Promise<void>((resolve) => {
      this.#request.write(Buffer.alloc(bytes), () => resolve());
    });
    return this;
  }

  end(): void {
    this.#request.destroy();
  }
}

onEachDatabase(
  "uploads",
  (world) => {
    const urlOf = async (site: Site, name: string): Promise<string> => {
      const answer = await site.call("POST", "/v1/operations/plugins/upload-url", {
        query: { project: site.project.name },
        body: { name },
      });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      return answer.body.uploadUrl;
    };
    const put = async (url: string): Promise<Told> => (await new Upload(url, 100).send(100)).answer;
    /** Refused as long as the one before holds its seat; the answer says when it does. */
    const until = async (url: string, status: number): Promise<Told> => {
      let told = await put(url);
      while (told.status !== status) told = await put(url);
      return told;
    };

    it("a trickled upload keeps others from its own address and project alone, and not for long", async () => {
      const [noisy, other] = [await newSite(world), await newSite(world)];
      const url = await urlOf(noisy, "one");
      const trickling = [await new Upload(url, 1_000_000).send(10)];
      expect((await until(url, 429)).body).toMatchObject({
        code: "RATE_LIMITED",
        context: { budget: "object-uploads", size: 1 },
      });
      const second = await urlOf(noisy, "two");
      trickling.push(await new Upload(second, 1_000_000).send(10));
      await until(second, 429);
      expect((await put(await urlOf(noisy, "three"))).body.context?.budget).toBe("project-uploads");
      expect((await put(await urlOf(other, "one"))).status).toBe(200);
      world.clock.advance(15_000);
      for (const { answer } of trickling) {
        expect((await answer).body.code).toBe("TIMEOUT");
      }
      expect((await until(url, 200)).status).toBe(200);
      for (const each of trickling) each.end();
    });

    it("an upload that comes fast enough may take longer", async () => {
      const site = await newSite(world);
      const part = 600_000;
      const upload = new Upload(await urlOf(site, "steady"), 3 * part);
      for (const window of [1, 2]) {
        await upload.send(part);
        await expect.poll(largestPartial).toBeGreaterThanOrEqual(window * part - 64 * 1024);
        world.clock.advance(15_000);
      }
      await upload.send(part);
      expect((await upload.answer).status).toBe(200);
    });
  },
  { objects: { folder }, budgets: { "project-uploads": 2 } },
);
