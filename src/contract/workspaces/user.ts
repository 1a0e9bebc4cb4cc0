import Type, { type Static } from "typebox";
import { routes } from "../wire/route.ts";
import { HumanLine, HumanText, Nullable, Strict, Timestamp, UserId, Words } from "../wire/schema.ts";
import { Membership } from "./workspaces.ts";

/** Where the user heard of the platform: of the five kinds of sites also by the name of one. An answer has what was sent. */
export const ACQUISITION_SOURCES = [
  "search",
  "friend-or-colleague",
  "founder",
  "event-or-community",
  "git-host",
  "microblog",
  "professional-network",
  "news-aggregator",
  "forum",
  "github",
  "gitlab",
  "twitter",
  "x",
  "linkedin",
  "hackernews",
  "hacker-news",
  "reddit",
  "other",
] as const;

/** Version of the profile's questions, stored with the user's answers. */
export const PROFILE_SETUP_VERSION = 1;

export const UserProfile = Strict({
  id: UserId,
  email: Type.String(),
  name: Type.String(),
  image: Nullable(Type.String()),
  gitHostUsername: Nullable(Type.String()),
  cliConnected: Type.Boolean({ description: "Has signed in with the command line once." }),
  company: Nullable(Type.String()),
  acquisitionSource: Nullable(Words(ACQUISITION_SOURCES)),
  acquisitionSourceDetail: Nullable(Type.String()),
  useCases: Nullable(Type.String()),
  profileSetupCompletedAt: Nullable(Timestamp),
  profileSetupVersion: Nullable(Type.Integer()),
});
export type UserProfile = Static<typeof UserProfile>;

const name = HumanLine(1, 100);

export const userRoutes = routes({
  getProfile: {
    method: "GET",
    path: "/v1/user/profile",
    summary: "Reads the signed-in user's profile.",
    roles: ["user"],
    success: 200,
    response: UserProfile,
    errors: [],
    repeat: "safe",
    workspace: "exempt",
  },
  patchProfile: {
    method: "PATCH",
    path: "/v1/user/profile",
    summary: "Changes the signed-in user's name.",
    roles: ["user"],
    body: Strict({ name: Type.Optional(name) }),
    success: 200,
    response: UserProfile,
    errors: [],
    repeat: "state",
    workspace: "exempt",
  },
  setupProfile: {
    method: "POST",
    path: "/v1/user/profile/setup",
    summary: "Answers the questions of the first sign-in; a later call changes the answers.",
    roles: ["user"],
    body: Strict({
      name,
      company: HumanLine(1, 120),
      acquisitionSource: Words(ACQUISITION_SOURCES),
      acquisitionSourceDetail: Type.Optional(HumanLine(1, 200)),
      useCases: Type.Optional(HumanText(0, 2000)),
    }),
    success: 200,
    response: UserProfile,
    errors: [],
    repeat: "natural",
    workspace: "exempt",
  },
  listMemberships: {
    method: "GET",
    path: "/v1/user/memberships",
    summary: "Lists the workspaces of the signed-in user with the role in each, by name.",
    roles: ["user"],
    success: 200,
    response: Strict({ items: Type.Array(Membership) }),
    errors: [],
    repeat: "safe",
    workspace: "exempt",
  },
});
