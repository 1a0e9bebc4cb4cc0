// biome-ignore-all lint/performance/noBarrelFile: the package's public entry "./kube", named one by one; inside of the repository import the file itself.

export type { AccessAttributes, ResourceRule, Subject, SubjectRules, UserInfo } from "./access-reviews.ts";
export { ApiError, type Status } from "./api-error.ts";
export type { Change } from "./cache.ts";
export { Client } from "./client.ts";
export type {
  ApplyOptions,
  ClientOptions,
  DeleteOptions,
  JsonPatchOperation,
  ListOptions,
  Patch,
  PatchOptions,
} from "./client-options.ts";
export { type Clock, type Random, sleep, systemClock, systemRandom } from "./clock.ts";
export { type Condition, timestamp, withCondition } from "./conditions.ts";
export { type Connection, type ConnectionOptions, connect, type ExplicitEndpoint } from "./connection.ts";
export {
  Controller,
  type ControllerOptions,
  type Reconcile,
  type ReconcileContext,
  type Result,
  TerminalError,
} from "./controller.ts";
export { EventRecorder, type EventRecorderOptions } from "./event-recorder.ts";
export { bool, int, interned, list, map, microTime, optional, quantity, string, time } from "./field-types.ts";
export { addFinalizer, removeFinalizer } from "./finalizers.ts";
export { HealthServer, type HealthServerOptions } from "./health.ts";
export { Informer, type InformerOptions } from "./informer.ts";
export { LeaderElector, type LeaderElectorOptions, LeadershipLostError } from "./leader-election.ts";
export { type Logger, silentLogger } from "./log.ts";
export { Manager, type ManagerOptions, type Runnable } from "./manager.ts";
export { type KubeMetrics, kubeMetrics } from "./metrics.ts";
export { needsApply } from "./needs-apply.ts";
export { AlreadyOwnedError, assertControllable, controllerOf, ownerReference } from "./owner-reference.ts";
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
} from "./predicates.ts";
export { field, jsonProjection, message, type Projected, type Projection } from "./projection.ts";
export {
  apiVersionOf,
  type KubeObject,
  keyOf,
  type NewObject,
  type ObjectKey,
  type ObjectMeta,
  parseKey,
  type Resource,
  resources,
} from "./resource.ts";
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
} from "./shapes.ts";
export { owns, periodic, type Source, triggered, watches } from "./sources.ts";
export type { IndexFunction, ReadonlyStore } from "./store.ts";
export type { IssuedToken, PodLogOptions, Scale, TokenOptions } from "./subresources.ts";
