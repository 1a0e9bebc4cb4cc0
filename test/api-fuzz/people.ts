import { type Client, createClient } from "../../src/api-client/client.ts";
import { UserSignIn } from "../../src/api-client/user-sign-in.ts";
import { CLI_CLIENT } from "../../src/platform/identity/oauth/client.ts";
import { TestBrowser } from "../../src/platform/identity/testing/test-browser.ts";
import { type FuzzWorld, inAnHour, SPARES } from "./world.ts";

const CALLBACK = "http://127.0.0.1:1/callback";
const OTHER = "other@example.com";

/** A user's access token, by the sign-in that every program uses. Valid for a quarter of an hour. */
export async function signIn(baseUrl: string, email: string, signal: AbortSignal): Promise<string> {
  const signingIn = new UserSignIn({ baseUrl, clientId: CLI_CLIENT.id });
  try {
    const underWay = await signingIn.begin(CALLBACK, signal);
    const browser = new TestBrowser((url) => url.origin !== baseUrl);
    const page = await browser.submit(await browser.get(underWay.url), { email }, "/auth/dev-login");
    const back = await browser.submit(page, { decision: "allow" });
    return (await underWay.finish(new URL(back.url), signal)).access;
  } finally {
    await signingIn.close();
  }
}

function tokenOf(inviteUrl: string): string {
  return new URL(inviteUrl).pathname.split("/").at(-1) ?? "";
}

/**
 * The objects around a user: a workspace with members and invitations, some to delete, and a workspace to be invited
 * to.
 */
export async function worldOfUser(baseUrl: string, credential: string, signal: AbortSignal): Promise<FuzzWorld> {
  await using stack = new AsyncDisposableStack();
  const clientOf = (token: string): Client => {
    const client = createClient({ baseUrl, credential: token });
    stack.defer(() => client.close());
    return client;
  };
  const me = clientOf(credential);
  const other = clientOf(await signIn(baseUrl, OTHER, signal));
  const own = await me.workspaces.create({ body: { name: "own-workspace" } }, signal);
  const theirs = await other.workspaces.create({ body: { name: "other-workspace" } }, signal);
  const role = "workspace.member";
  const link = await other.invitations.putLink({ params: { id: theirs.id }, body: { role } }, signal);

  const params = { id: own.id };
  const objectsOf = async (name: string) => {
    const joins = `joins-${name}@example.com`;
    const { inviteUrl } = await me.members.add({ params, body: { email: joins, role } }, signal);
    const joiner = clientOf(await signIn(baseUrl, joins, signal));
    await joiner.invitations.accept({ params: { token: tokenOf(inviteUrl) } }, signal);
    return {
      member: (await joiner.user.getProfile({}, signal)).id,
      invitation: (await me.invitations.create({ params, body: { email: `${name}@example.com`, role } }, signal)).id,
    };
  };
  const lasting = await objectsOf("lasting");
  const spare: { workspaces: string[]; members: string[]; invitations: string[] } = {
    workspaces: [],
    members: [],
    invitations: [],
  };
  for (let i = 0; i < SPARES; i += 1) {
    const { member, invitation } = await objectsOf(`spare-${i}`);
    spare.workspaces.push((await me.workspaces.create({ body: { name: `spare-${i}` } }, signal)).id);
    spare.members.push(member);
    spare.invitations.push(invitation);
  }
  return {
    lasting: {
      workspaces: [own.id],
      members: [lasting.member],
      invitations: [lasting.invitation],
      token: [tokenOf(link.inviteUrl)],
      email: [OTHER, "joins-lasting@example.com"],
    },
    spare,
    protected: [(await me.user.getProfile({}, signal)).id],
    workspace: own.name,
    needProject: [],
    inAnHour: inAnHour(),
  };
}
