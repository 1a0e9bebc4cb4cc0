import { BlockList, isIP } from "node:net";
import { isLoopbackHost } from "../../base/loopback.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy that the environment asks for on the way to `server`; undefined for a direct connection.
 *
 * Rules are Go's (golang.org/x/net/http/httpproxy), because every other Kubernetes client follows them: `HTTPS_PROXY`
 * for https, `HTTP_PROXY` for http, lower case too; `NO_PROXY` holds `*`, hosts (with their subdomains), `.suffixes`,
 * `host:port`, addresses and CIDR ranges; loopback never goes through a proxy. undici's own EnvHttpProxyAgent knows no
 * CIDR ranges, and a cluster's service network in `NO_PROXY` is one.
 */
export function proxyFor(server: URL, environment: Environment): string | undefined {
  const name = server.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const proxy = environment[name] || environment[name.toLowerCase()];
  if (!proxy) return undefined;
  const host = server.hostname.replace(/^\[|\]$/g, "").toLowerCase();
  if (isLoopbackHost(host)) return undefined;
  const port = server.port || (server.protocol === "https:" ? "443" : "80");
  const exceptions = environment.NO_PROXY || environment.no_proxy || "";
  if (exceptions.split(",").some((exception) => matches(exception.trim().toLowerCase(), host, port))) return undefined;
  // "proxy.corp:3128" without a scheme is common, and Go takes it as http.
  return proxy.includes("://") ? proxy : `http://${proxy}`;
}

function matches(exception: string, host: string, port: string): boolean {
  if (exception === "") return false;
  if (exception === "*") return true;
  if (exception.includes("/")) return inRange(exception, host);
  const { name, onlyPort } = splitPort(exception);
  if (onlyPort !== undefined && onlyPort !== port) return false;
  if (isIP(host) !== 0) return name === host;
  const suffix = name.replace(/^\*?\./, "");
  // A leading dot means subdomains only, a bare name means itself and its subdomains.
  return host.endsWith(`.${suffix}`) || (name === suffix && host === suffix);
}

function splitPort(exception: string): { readonly name: string; readonly onlyPort?: string } {
  const bracketed = /^\[(.+)\](?::(\d+))?$/.exec(exception) ?? /^([^:]+):(\d+)$/.exec(exception);
  const [, name, onlyPort] = bracketed ?? [];
  if (name === undefined) return { name: exception };
  return onlyPort === undefined ? { name } : { name, onlyPort };
}

function inRange(range: string, host: string): boolean {
  const [network = "", bits = ""] = range.split("/");
  const version = isIP(network);
  const prefix = Number(bits);
  if (version === 0 || version !== isIP(host) || !Number.isInteger(prefix) || prefix > (version === 4 ? 32 : 128)) {
    return false;
  }
  const family = version === 4 ? "ipv4" : "ipv6";
  const list = new BlockList();
  list.addSubnet(network, prefix, family);
  return list.check(host, family);
}
