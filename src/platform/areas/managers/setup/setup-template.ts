/**
 * The CloudFormation template of a manager's setup. It exchanges the setup token for the runtime key without showing
 * the key, and stores it in the account's Secrets Manager. The manager is then installed with that key.
 */
export function setupTemplate(baseUrl: string): string {
  return `AWSTemplateFormatVersion: "2010-09-09"
Description: Exchanges a manager's setup token for its runtime key, and keeps the key in Secrets Manager.
Parameters:
  ManagerId:
    Type: String
    Description: managerId of the setup
    AllowedPattern: ^mgr_[0-9a-z]{28}$
  SetupToken:
    Type: String
    Description: setupToken of the setup, valid for 24 hours
    NoEcho: true
    AllowedPattern: ^sp_g_[0-9a-z]{12}_[0-9A-Za-z]{40}$
  PlatformUrl:
    Type: String
    Description: Address of the platform
    Default: ${JSON.stringify(baseUrl)}
Resources:
  BootstrapRole:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument:
        Version: "2012-10-17"
        Statement:
          - Effect: Allow
            Principal:
              Service: lambda.amazonaws.com
            Action: sts:AssumeRole
      ManagedPolicyArns:
        - !Sub arn:\${AWS::Partition}:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole
  BootstrapFunction:
    Type: AWS::Lambda::Function
    Properties:
      Runtime: nodejs22.x
      Handler: index.handler
      Timeout: 60
      Role: !GetAtt BootstrapRole.Arn
      Code:
        ZipFile: |
${BOOTSTRAP.replace(/^(?=.)/gm, "          ")}  Bootstrap:
    Type: Custom::ManagerBootstrap
    Properties:
      ServiceToken: !GetAtt BootstrapFunction.Arn
      ServiceTimeout: 120
      PlatformUrl: !Ref PlatformUrl
      ManagerId: !Ref ManagerId
      SetupToken: !Ref SetupToken
  RuntimeKey:
    Type: AWS::SecretsManager::Secret
    DeletionPolicy: Delete
    UpdateReplacePolicy: Delete
    Properties:
      Description: !Sub Runtime key of \${ManagerId}
      SecretString: !GetAtt Bootstrap.apiKey
Outputs:
  RuntimeKeySecret:
    Description: The secret with the runtime key, for the installation of the manager
    Value: !Ref RuntimeKey
  DeploymentId:
    Description: The deployment that the manager runs as
    Value: !GetAtt Bootstrap.deploymentId
`;
}

/**
 * Runs in Lambda, once for each token. `NoEcho` makes CloudFormation hide the values of the answer. Deleting the stack
 * deletes the key's secret but changes nothing on the platform: the manager is deleted there.
 */
const BOOTSTRAP = `exports.handler = async (event) => {
  const { StackId, RequestId, LogicalResourceId, ResourceProperties: wanted } = event;
  const answer = { StackId, RequestId, LogicalResourceId, PhysicalResourceId: wanted.ManagerId, NoEcho: true };
  try {
    if (event.RequestType !== "Delete") answer.Data = await bootstrap(wanted);
    answer.Status = "SUCCESS";
  } catch (error) {
    answer.Status = "FAILED";
    answer.Reason = error.message;
  }
  const sent = await fetch(event.ResponseURL, {
    method: "PUT",
    headers: { "content-type": "" },
    body: JSON.stringify(answer),
  });
  if (!sent.ok) throw new Error("CloudFormation took no answer: " + sent.status);
};

async function bootstrap({ PlatformUrl, ManagerId, SetupToken }) {
  const response = await fetch(PlatformUrl + "/v1/managers/" + ManagerId + "/bootstrap", {
    method: "POST",
    headers: { authorization: "Bearer " + SetupToken },
    signal: AbortSignal.timeout(30000),
  });
  const body = await response.json();
  if (!response.ok) throw new Error(body.code + ": " + body.message);
  return { apiKey: body.apiKey, deploymentId: body.deploymentId };
}
`;
