/** Fields of the recorded objects. */

export const pod = (word: string, more: object = {}, labels: object = {}): object => ({
  metadata: { labels: { app: "web", ...labels } },
  spec: {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 1,
    containers: [{ name: "main", image: `play/${word}` }],
    ...more,
  },
});

const selector = { matchLabels: { app: "web" } };

export const workload = (replicas: number, word: string, more: object = {}, podMore: object = {}) => ({
  spec: { replicas, selector, template: pod(word, podMore), ...more },
});

export const daemon = (word: string, node: string, more: object = {}, labels: object = {}) => ({
  spec: { selector, template: pod(word, { nodeSelector: { [node]: "yes" } }, labels), ...more },
});

export const job = (word: string, more: object = {}, podMore: object = {}) => {
  const { metadata, spec } = pod(word, { restartPolicy: "Never", ...podMore }) as { metadata: object; spec: object };
  return { spec: { template: { metadata, spec }, ...more } };
};

/** A new revision of the template. */
export const image = (word: string) => ({
  spec: { template: { spec: { containers: [{ name: "main", image: `play/${word}` }] } } },
});

export const status = (field: string, value: number) => (object: { readonly status?: object }) =>
  ((object.status as Record<string, unknown> | undefined)?.[field] ?? 0) === value;

export const hasCondition =
  (type: string, value: string, reason?: string) =>
  (object: { readonly status?: object }): boolean => {
    const { conditions = [] } = (object.status ?? {}) as {
      readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason?: string }[];
    };
    return conditions.some(
      (each) => each.type === type && each.status === value && (reason === undefined || each.reason === reason),
    );
  };
