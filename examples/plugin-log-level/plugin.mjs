import { defineOperation, OperationError } from "@sallyport/plugin";

const CONFIG_MAPS = { group: "", version: "v1", plural: "configmaps" };
const KEY = "LOG_LEVEL";
const DEFAULT = "info";
/** An application that writes its own ConfigMap moves the resourceVersion between our read and our write. */
const TRIES = 4;

async function read(client, { namespace, name }) {
  const found = await client.get(CONFIG_MAPS, { namespace, name });
  if (found === undefined) throw new OperationError(`there is no ConfigMap ${name} in ${namespace}`);
  return { level: found.data?.[KEY] ?? DEFAULT, resourceVersion: found.metadata.resourceVersion };
}

const show = defineOperation({
  async run({ client, params }) {
    const { level } = await read(client, params);
    return { level };
  },
});

const set = defineOperation({
  // The schema cannot say it: this ConfigMap is Kubernetes's own.
  bind(params) {
    if (params.name === "kube-root-ca.crt") throw new OperationError("kube-root-ca.crt is no program's");
    return params;
  },
  async run({ client, params, clock }) {
    const { namespace, name, level } = params;
    for (let attempt = 1; ; attempt += 1) {
      const before = await read(client, params);
      if (before.level === level) return { before: before.level, level, changed: false };
      // With the resourceVersion that was read the API server refuses the change when another was first.
      const body = { metadata: { resourceVersion: before.resourceVersion }, data: { [KEY]: level } };
      try {
        await client.patch(CONFIG_MAPS, { namespace, name }, body);
        return { before: before.level, level, changed: true };
      } catch (error) {
        if (error.status !== 409 || attempt === TRIES) throw error;
        await clock.sleep(100 * attempt);
      }
    }
  },
  async verify({ client, params }, done) {
    const { level } = await read(client, params);
    if (level === done.level) return done;
    throw new OperationError(`${params.name} has the level ${level}: something else has set it`);
  },
});

export default { show, set };
