import { randomBytes } from "node:crypto";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import type { Cluster } from "../../lab/cluster/cluster.ts";

/** Texts that occur nowhere else, each under the name of the place where the test put it. */
export class Canaries {
  readonly #all = new Map<string, string>();

  /** Makes a new one. Letters and digits only, so that every place that accepts a secret accepts it. */
  plant(place: string): string {
    const text = `canary${randomBytes(12).toString("hex")}`;
    this.#all.set(place, text);
    return text;
  }

  /** Adds one that exists already: a real key or token. */
  guard(place: string, secret: string): void {
    if (secret.length < 16) throw new Error(`${place} is too short to be searched for`);
    this.#all.set(place, secret);
  }

  /** `place in haystack` for each canary that is found, also in the encodings that software uses. */
  foundIn(haystacks: ReadonlyMap<string, string>): readonly string[] {
    const found: string[] = [];
    for (const [where, text] of haystacks) {
      for (const [place, canary] of this.#all) {
        const bytes = Buffer.from(canary);
        const disguises = [canary, encodeURIComponent(canary), bytes.toString("hex"), ...base64Inside(bytes)];
        if (disguises.some((disguise) => text.includes(disguise))) found.push(`${place} in ${where}`);
      }
      // Also tokens that were minted during the test, such as a grant's bound token, whose text the test does not know.
      if (/\beyJ[\w-]{20,}\.[\w-]{20,}\.[\w-]{20,}/.test(text)) found.push(`a JWT in ${where}`);
    }
    return found;
  }
}

/** Base64 of the middle of `bytes`, for each of the three places in a group where it can begin. */
function base64Inside(bytes: Buffer): readonly string[] {
  return [0, 1, 2].flatMap((offset) => {
    const whole = bytes.subarray(offset, offset + Math.floor((bytes.length - offset) / 3) * 3);
    return [whole.toString("base64"), whole.toString("base64url")];
  });
}

/** A fake kubelet of a node: the API server asks it for logs, and it returns the same for every container. */
export class ChattyKubelet {
  readonly #server: Server;

  private constructor({ backend }: Pick<Cluster, "backend">, log: string) {
    const { certificate: cert, key } = backend.issue({ commonName: "kubelet", hosts: ["127.0.0.1"] });
    this.#server = createServer({ cert, key }, (request, response) => {
      request.resume();
      response.end(log);
    });
  }

  static async listen(cluster: Pick<Cluster, "backend">, log: string): Promise<ChattyKubelet> {
    const kubelet = new ChattyKubelet(cluster, log);
    await new Promise<void>((resolve) => kubelet.#server.listen(0, "127.0.0.1", resolve));
    return kubelet;
  }

  get node() {
    const { port: Port } = this.#server.address() as AddressInfo;
    return {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "node-1" },
      status: {
        addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
        daemonEndpoints: { kubeletEndpoint: { Port } },
      },
    };
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}
