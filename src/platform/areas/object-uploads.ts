import type { UploadRule } from "../objects/upload-rule.ts";
import { sessionUpload } from "./debug-sessions/uploads.ts";

/** What uploads depend on beside their addresses, by the first segment of their keys. */
export const OBJECT_UPLOADS: ReadonlyMap<string, UploadRule> = new Map([["debug-sessions", sessionUpload]]);
