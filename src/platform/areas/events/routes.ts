import type { eventRoutes } from "../../../contract/events/events.ts";
import type { Handlers } from "../../kernel/call/call.ts";
import { toPage } from "../../kernel/call/page.ts";
import { notFound } from "../../kernel/errors.ts";
import { optionalProject } from "../../kernel/tenancy/project-ref.ts";
import { findEvent, listEvents, toEvent } from "./store.ts";

export const handlers: Handlers<typeof eventRoutes> = {
  async list({ db, principal, page, query }) {
    const project = await optionalProject(db, principal, query.project);
    const { deploymentId, releaseId, include = [] } = query;
    const rows = await listEvents(db, principal, { projectId: project?.id, deploymentId, releaseId }, page);
    const withRelease = include.includes("releaseCreatedAt");
    return toPage(page, rows, positionOf, (row) => toEvent(row, principal, withRelease));
  },

  async get({ db, principal, params, query }) {
    const row = await findEvent(db, principal, params.id);
    if (row === undefined) throw notFound("event");
    return toEvent(row, principal, query.include?.includes("releaseCreatedAt") ?? false);
  },
};

const positionOf = (row: { created_at: Date; id: string }) => ({ at: row.created_at, id: row.id });
