import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { createServer, type Server } from "node:tls";
import { CertificateAuthority } from "../../../lab/cluster/certificates.ts";

/** An address of this machine that is not loopback, so that a proxy may be used for it. Undefined: there is none. */
export function outerAddress(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return all.find(({ family, internal }) => family === "IPv4" && !internal)?.address;
}

/** Serves TLS in front of the platform, with a certificate of a private CA. */
export class PrivateTls {
  readonly issuer: string;
  /** PEM of the CA. */
  readonly ca: string;
  readonly #server: Server;
  readonly #address: string;

  private constructor(address: string, target: URL, issuer: string) {
    const authority = new CertificateAuthority(issuer);
    const { certificate: cert, key } = authority.issue({ commonName: "platform", hosts: [address] });
    this.issuer = issuer;
    this.ca = authority.certificate;
    this.#address = address;
    this.#server = createServer({ cert, key }, (client) => {
      const inner = connect({ host: target.hostname, port: Number(target.port) });
      for (const [one, other] of [
        [client, inner],
        [inner, client],
      ] as const) {
        one.on("error", () => other.destroy());
        one.on("close", () => other.destroy());
        one.pipe(other);
      }
    });
    this.#server.on("tlsClientError", () => undefined);
  }

  static async listen(address: string, target: string, issuer: string): Promise<PrivateTls> {
    const tls = new PrivateTls(address, new URL(target), issuer);
    await new Promise<void>((resolve) => tls.#server.listen(0, address, resolve));
    return tls;
  }

  get host(): string {
    const bound = this.#server.address();
    if (bound === null || typeof bound === "string") throw new Error("not listening");
    return `${this.#address}:${bound.port}`;
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}
