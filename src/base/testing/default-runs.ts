import fc from "fast-check";
import { runs } from "./runs.ts";

// For properties that name no number of runs.
fc.configureGlobal({ numRuns: runs(100) });
