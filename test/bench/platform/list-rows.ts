import type { ask } from "./ask.ts";
import { connected, copyRow, idOf } from "./rows.ts";

/** How many projects, groups and managers the rows are spread over. */
const SPREAD = 10;
/** One row in this many is rare, as a failed deployment is. */
const RARE = 1000;

const DEPLOYMENT = `dep_${"7".padStart(28, "0")}`;
const RELEASE = `rel_${"7".padStart(28, "0")}`;
const LONG_AGO = "2001-01-01T00:00:00.000Z";

interface List {
  readonly path: string;
  /** Query strings by what they are; ids are those that `manyRows` makes. */
  readonly filters: Readonly<Record<string, string>>;
}

/** The paginated lists that grow. Projects are at most 200 a workspace, and workspaces as many as a person has. */
export const TABLES: Readonly<Record<string, List>> = {
  deployments: {
    path: "/v1/deployments",
    filters: {
      project: "project=project-3",
      group: "deploymentGroup=group-3&project=project-3",
      name: "name=d77",
      manager: `managerId=mgr_${"3".padStart(28, "0")}`,
      purpose: "purpose=storage",
      environment: "environment=aws",
      "common status": "status=running",
      "rare status": "status=error",
      "search with hits": "search=d9",
      "search for one": "search=d54321&status=running",
      "search for a group": "search=group-7",
      "search without": "search=zzzz",
    },
  },
  releases: {
    path: "/v1/releases?allChannels=true",
    filters: {
      project: "project=project-3",
      branch: "branch=branch-77",
      author: "author=author-77",
      "after an instant": `createdAfter=${LONG_AGO}`,
      "before an instant": `createdBefore=${LONG_AGO}`,
      "search with hits": "search=1.0.9",
      "search for a sha": "search=abcdef01",
      "search without": "search=zzzz",
      "with rollouts": "include=rollout",
    },
  },
  "promoted releases": {
    path: "/v1/releases",
    filters: {
      project: "project=project-7",
      "project without": "project=project-3",
      channel: "channel=canary",
      branch: "branch=branch-7",
      "after an instant": `createdAfter=${LONG_AGO}`,
    },
  },
  "a release's deployments": {
    path: `/v1/releases/${RELEASE}/deployments`,
    filters: {
      state: "state=updated",
      "common state": "state=superseded",
      "rare state": "state=pending",
      "state without": "state=failed",
      group: "deploymentGroup=group-7",
      "group and state": "deploymentGroup=group-7&state=updated",
    },
  },
  commands: {
    path: "/v1/commands",
    filters: {
      deployment: `deploymentId=${DEPLOYMENT}`,
      manager: `managerId=mgr_${"3".padStart(28, "0")}`,
      "common state": "state=SUCCEEDED",
      "rare state": "state=FAILED",
      name: "name=name-77",
      "search with hits": "search=name-9",
      "search without": "search=zzzz",
      "after an instant": `createdAfter=${LONG_AGO}`,
      "before an instant": `createdBefore=${LONG_AGO}`,
      "oldest first": "order=asc",
    },
  },
  "access requests": {
    path: "/v1/access-requests",
    filters: {
      project: "project=project-3",
      deployment: `deploymentId=${DEPLOYMENT}`,
      "common status": "status=pending-approval",
      "rare status": "status=rejected",
      plan: "remediationPlanId=plan-77",
    },
  },
  "debug sessions": {
    path: "/v1/debug-sessions",
    filters: {
      project: "project=project-3",
      deployment: `deploymentId=${DEPLOYMENT}`,
      "common state": "state=stopped",
      "rare state": "state=failed",
      mode: "mode=push",
      provider: "provider=aws",
    },
  },
  "deployment groups": {
    path: "/v1/deployment-groups",
    filters: { project: "project=project-3", "search with hits": "search=g9", "search without": "search=zzzz" },
  },
  packages: {
    path: "/v1/packages",
    filters: {
      project: "project=project-3",
      type: "type=helm",
      "rare type": "type=cli",
      "common status": "status=canceled",
      "rare status": "status=failed",
      "search with hits": "search=1.0.9",
      "search without": "search=zzzz",
    },
  },
  events: {
    path: "/v1/events",
    filters: {
      project: "project=project-3",
      deployment: `deploymentId=${DEPLOYMENT}`,
      release: `releaseId=${RELEASE}`,
    },
  },
  "api keys": { path: "/v1/api-keys", filters: { project: "project=project-3" } },
};

interface Place {
  readonly workspaceId: string;
  readonly managerId: string;
  readonly call: ReturnType<typeof ask>;
  readonly asManager: ReturnType<typeof ask>;
}

/**
 * Adds `count` rows to each list, a second apart; the n-th copy has the n-th id. They are spread over projects, with
 * rare ones among them.
 */
export async function manyRows(url: string, place: Place, count: number): Promise<void> {
  const { deployment, release } = await templates(place);
  await connected(url, async (client) => {
    const { rows: projects } = await client.query<{ id: string }>("select id from projects order by name");
    const ids = projects.map(({ id }) => `'${id}'`).join(", ");
    const project = `(array[${ids}])[n % ${SPREAD} + 1]`;
    const at = "now() - n * interval '1 second'";
    const rare = (usual: string, seldom: string) => `case when n % ${RARE} = 1 then '${seldom}' else '${usual}' end`;
    const nth = (prefix: string) => `'${prefix}_' || lpad((n % ${SPREAD})::text, 28, '0')`;
    const shared = { project_id: project, created_at: at };
    const same = `'dep_' || lpad(n::text, 28, '0')`;
    // The id of one of its project's twenty newest releases.
    const running = `'rel_' || lpad((10 * (n / 10 % 20 + 1) - (10 - n % 10) % 10)::text, 28, '0')`;

    await client.query(
      `insert into managers (id, workspace_id, name, targets, setup_status, setup_changed_at, shared, created_at)
       select 'mgr_' || lpad(n::text, 28, '0'), $1, 'm' || n, '{kubernetes}', 'active', now(), true, now()
       from generate_series(0, $2) n`,
      [place.workspaceId, SPREAD],
    );
    await client.query(
      `insert into deployment_groups (id, workspace_id, project_id, name, max_deployments, created_at)
       select 'dg_' || lpad(n::text, 28, '0'), $1, ${project},
         case when n <= ${SPREAD} then 'group-' || n else 'g' || n end, 1000, ${at}
       from generate_series(1, $2::int) n`,
      [place.workspaceId, count],
    );
    await copyRow(client, "releases", release, count, {
      ...shared,
      id: idOf("rel"),
      version: "'1.0.' || n",
      branch: "'branch-' || n % 1000",
      git_metadata:
        "t.git_metadata || jsonb_build_object('commitAuthorLogin', 'author-' || n % 1000, 'commitMessage', 'message ' || n)",
    });
    await client.query(
      `insert into channel_promotions (project_id, channel, release_id, promoted_at)
       select project_id, case when random() < 0.5 then 'canary' else 'production' end, id, created_at
       from releases where id like 'rel_0%' and right(id, 2) = '07'`,
    );
    await copyRow(client, "deployments", deployment, count, {
      ...shared,
      id: idOf("dep"),
      name: "'d' || n",
      deployment_group_id: `'dg_' || lpad(coalesce(nullif(n % ${SPREAD}, 0), ${SPREAD})::text, 28, '0')`,
      manager_id: nth("mgr"),
      status: rare("running", "error"),
      purpose: rare("application", "storage"),
      platform: rare("kubernetes", "aws"),
      current_release_id: running,
      desired_release_id: `case when n % ${RARE} = 17 then '${RELEASE}' end`,
      release_duration_ms: "nullif(n % 7, 0) * 1000",
    });
    await client.query(
      `insert into commands (id, workspace_id, project_id, deployment_id, name, state, deployment_model, created_at, completed_at)
       select 'cmd_' || lpad(n::text, 28, '0'), $1, ${project}, ${same}, 'name-' || n % 1000, ${rare("SUCCEEDED", "FAILED")}, 'pull', ${at}, now()
       from generate_series(1, $2::int) n`,
      [place.workspaceId, count],
    );
    await client.query(
      `insert into access_requests (id, workspace_id, project_id, deployment_id, remediation_plan_id, title, commands, risk,
         plan_hash, max_minutes, debug, decide_before, status, execution, decisions, created_by, created_at, updated_at)
       select 'ar_' || lpad(n::text, 28, '0'), $1, ${project}, ${same}, 'plan-' || n % 1000, 'A title', '[]', 'read-only',
         'sha256:' || repeat('0', 64), 60, false, now() + interval '1 day', ${rare("pending-approval", "rejected")}, 'idle', '[]',
         '{"kind":"serviceAccount","id":"apikey_0000000000000000000000000000","email":null}', ${at}, ${at}
       from generate_series(1, $2::int) n`,
      [place.workspaceId, count],
    );
    await client.query(
      `insert into debug_sessions (id, workspace_id, project_id, deployment_id, state, mode, provider, created_at, expires_at)
       select 'dbg_' || lpad(n::text, 28, '0'), $1, ${project}, ${same}, ${rare("stopped", "failed")},
         ${rare("pull", "push")}, ${rare("kubernetes", "aws")}, ${at}, ${at}
       from generate_series(1, $2::int) n`,
      [place.workspaceId, count],
    );
    await client.query(
      `insert into packages (id, workspace_id, project_id, type, number, status, setup_fingerprints, build_input_hash, config, created_at, updated_at)
       select 'pkg_' || lpad(n::text, 28, '0'), $1, ${project}, ${rare("helm", "cli")}, n, ${rare("canceled", "failed")},
         '{}', repeat('0', 64), '{"type":"helm","chartName":"shop","description":"d"}', ${at}, ${at}
       from generate_series(1, $2::int) n`,
      [place.workspaceId, count],
    );
    const { rows: events } = await client.query<{ id: string }>("select id from events limit 1");
    await copyRow(client, "events", events[0]?.id ?? "", count, {
      ...shared,
      id: idOf("event"),
      deployment_id: same,
      release_id: "'rel_' || lpad(n::text, 28, '0')",
    });
    const { rows: keys } = await client.query<{ id: string }>("select id from api_keys where type = 'workspace'");
    await copyRow(client, "api_keys", keys[0]?.id ?? "", count, {
      ...shared,
      id: idOf("apikey"),
      key_id: "'k' || n",
      type: "'project'",
      role: "'project.viewer'",
    });
    await client.query("analyze");
  });
}

async function templates({ call, asManager, managerId }: Place) {
  const beat = { status: "healthy", url: "https://manager.example.com", managementConfigs: {} };
  await asManager("POST", `/v1/managers/${managerId}/heartbeat`, beat);
  for (let n = 0; n < SPREAD; n += 1) await call("POST", "/v1/projects", { name: `project-${n}` });
  const project = "project-7";
  const group = await call("POST", "/v1/deployment-groups", { name: "template", project, maxDeployments: 10 });
  const made = await call("POST", "/v1/deployments", {
    ...{ name: "template", platform: "kubernetes", project, deploymentGroupId: group.body.id, managerId },
  });
  const release = await call("POST", "/v1/releases", {
    project,
    version: "0.0.1",
    gitMetadata: { commitMessage: "m" },
    stack: { kubernetes: { id: "shop", resources: {} } },
  });
  return { deployment: made.body.deployment.id as string, release: release.body.id as string };
}
