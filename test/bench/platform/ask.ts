interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the caller names the fields it means; a wrong one fails there.
  readonly body: any;
}

/** Calls with one key, for requests that are not measured. @throws Error for anything but success. */
export function ask(port: number, key: string) {
  return async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { "content-type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
  };
}
