// biome-ignore-all lint/performance/noBarrelFile: the package's public entry "./kube", named one by one; inside of the repository import the file itself.

export { type Clock, type Random, sleep, systemClock, systemRandom } from "../base/clock.ts";
export { type Logger, silentLogger } from "../base/log.ts";
export { AccessWatch, type AccessWatchOptions } from "./access/access-watch.ts";
export { missingAccess, type RequiredAccess } from "./access/required-access.ts";
export type { Change } from "./cache/cache.ts";
export { Informer, type InformerOptions } from "./cache/informer.ts";
export type { IndexFunction, ReadonlyStore } from "./cache/store.ts";
export type { AccessAttributes, ResourceRule, Subject, SubjectRules, UserInfo } from "./client/access-reviews.ts";
export { ApiError, type Status } from "./client/api-error.ts";
export { Client } from "./client/client.ts";
export type {
  ApplyOptions,
  ClientOptions,
  DeleteOptions,
  JsonPatchOperation,
  ListOptions,
  Patch,
  PatchOptions,
} from "./client/client-options.ts";
export { type Connection, type ConnectionOptions, connect, type ExplicitEndpoint } from "./client/connection.ts";
export { addFinalizer, removeFinalizer } from "./client/finalizers.ts";
export { writeStatus } from "./client/status-writer.ts";
export type { IssuedToken, PodLogOptions, Scale, TokenOptions } from "./client/subresources.ts";
export {
  Controller,
  type ControllerOptions,
  type Reconcile,
  type ReconcileContext,
  type Result,
  TerminalError,
} from "./controller/controller.ts";
export {
  and,
  annotationsChanged,
  everything,
  generationChanged,
  labelsChanged,
  not,
  or,
  type Predicate,
  resourceVersionChanged,
} from "./controller/predicates.ts";
export {
  type Notifier,
  notifiedBy,
  owns,
  periodic,
  reads,
  type Source,
  type TriggeredSource,
  triggered,
  watches,
} from "./controller/sources.ts";
export { type ElectionTimes, electionTimesProblems } from "./election/election-times.ts";
export { LeaderElector, type LeaderElectorOptions, LeadershipLostError } from "./election/leader-election.ts";
export { type EventReference, referenceTo } from "./events/event.ts";
export { EventRecorder, type EventRecorderOptions } from "./events/event-recorder.ts";
export { HealthServer, type HealthServerOptions } from "./manager/health.ts";
export { Manager, type ManagerOptions, type Runnable } from "./manager/manager.ts";
export { kubeMetrics } from "./metrics/kube-metrics.ts";
export type { KubeMetrics } from "./metrics/metrics.ts";
export { type Condition, timestamp, withCondition } from "./objects/conditions.ts";
export { needsApply } from "./objects/needs-apply.ts";
export { AlreadyOwnedError, assertControllable, controllerOf, ownerReference } from "./objects/owner-reference.ts";
export {
  apiVersionOf,
  type DynamicObject,
  type KubeObject,
  keyOf,
  type NewObject,
  type ObjectKey,
  type ObjectMeta,
  parseKey,
  type Resource,
  resources,
} from "./objects/resource.ts";
export {
  cronJobShape,
  jobShape,
  persistentVolumeClaimShape,
  podDisruptionBudgetShape,
} from "./projection/batch-shapes.ts";
export {
  bool,
  entries,
  int,
  interned,
  list,
  map,
  microTime,
  optional,
  quantity,
  string,
  time,
} from "./projection/field-types.ts";
export { field, jsonProjection, message, type Projected, type Projection } from "./projection/projection.ts";
export {
  configMapShape,
  daemonSetShape,
  deploymentShape,
  eventShape,
  namespaceShape,
  nodeShape,
  podShape,
  replicaSetShape,
  statefulSetShape,
} from "./projection/shapes.ts";
