import { Agent, type Dispatcher, EnvHttpProxyAgent, ProxyAgent, request } from "undici";
import type { Transport, WireAnswer, WireRequest } from "./transport.ts";

/**
 * For processes that run for long, and for every way through a proxy.
 *
 * @param proxy a proxy's URL; `direct`; `environment`: as HTTP_PROXY, HTTPS_PROXY and NO_PROXY say
 */
export function undiciTransport(proxy: string): Transport {
  const dispatcher = dispatcherFor(proxy);
  return {
    async send({ method, url, headers, body }: WireRequest, signal: AbortSignal): Promise<WireAnswer> {
      // The caller's own timer covers first byte to last. undici's two would cut a long-poll, or let a slow drip run for
      // ever.
      const limits = { headersTimeout: 0, bodyTimeout: 0 };
      const verb = method as Dispatcher.HttpMethod;
      const answer = await request(url, { method: verb, headers, body: body ?? null, dispatcher, signal, ...limits });
      return { status: answer.statusCode, headers: answer.headers, body: answer.body };
    },
    // `destroy`, not `close`: a long-poll that waits half a minute must not hold up a shutdown.
    close: () => dispatcher.destroy(),
  };
}

function dispatcherFor(proxy: string): Dispatcher {
  if (proxy === "direct") return new Agent({ allowH2: false });
  if (proxy === "environment") return new EnvHttpProxyAgent({ allowH2: false });
  return new ProxyAgent({ uri: proxy, allowH2: false });
}
