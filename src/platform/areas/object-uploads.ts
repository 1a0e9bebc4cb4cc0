import type { UploadRule } from "../objects/upload-rule.ts";
import { sessionUpload } from "./debug-sessions/uploads.ts";

/** The rules that an upload must fulfil besides its signed address, by the first segment of its key. */
export const OBJECT_UPLOADS: ReadonlyMap<string, UploadRule> = new Map([["debug-sessions", sessionUpload]]);
