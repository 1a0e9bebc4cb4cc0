/** The types of the description's closed list, apart from the contract's. */
export const EVENT_TYPES = [
  ...["DeploymentCreated", "DeploymentReleased", "DeploymentFailed", "DeploymentDegraded", "DeploymentRecovered"],
  ...["DeploymentDeleted", "DeploymentDeletionRequested", "DeploymentRetryRequested", "DeploymentRedeployRequested"],
  ...["DeploymentReleasePinned", "DeploymentReleaseUnpinned", "DeploymentReleaseChannelChanged"],
  ...["DeploymentEnvironmentUpdated", "ReleaseChannelUpdated"],
  ...["CreatingRelease", "LoadingConfiguration", "BuildingStack", "BuildingResource", "CompilingCode", "BuildingImage"],
  ...["PushingImage", "PushingStack", "PushingResource", "DownloadingRuntime", "GeneratingCloudFormationTemplate"],
  ...["GeneratingTemplate", "EnsuringDockerRepository", "Finished", "RunningPreflights", "ProvisioningAgent"],
  ...["UpdatingAgent", "DeletingAgent", "StackStep", "DebuggingAgent", "AssumingRole", "SettingUpPlatformContext"],
  ...["PreparingEnvironment", "DeployingStack", "DeployingCloudFormationStack"],
  ...["ImportingStackStateFromCloudFormation", "DeletingCloudFormationStack", "EmptyingBuckets", "CleaningUpStack"],
  ...["CleaningUpEnvironment", "RunningTestWorker"],
];
