import type { RenderedConfig } from "../../../contract/deployments/rendered-config.ts";

// The standard variables of OpenTelemetry's exporters (https://opentelemetry.io/docs/specs/otel/protocol/exporter/).

/**
 * With where logs are sent to, for containers that know OpenTelemetry. The header is secret, so all of it is left out where
 * the customer lets no secret values in. A variable that the configuration has by itself counts.
 */
export function withTelemetry(config: RenderedConfig, takesSecrets: boolean): RenderedConfig {
  const { monitoring, environmentVariables } = config;
  if (monitoring == null || !takesSecrets) return config;
  const { logsEndpoint, logsAuthHeader, resourceAttributes } = monitoring;
  const attributes = pairs(resourceAttributes);
  const given = [
    { name: "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", value: logsEndpoint, type: "plain" as const },
    {
      name: "OTEL_EXPORTER_OTLP_LOGS_HEADERS",
      value: `Authorization=${encodeURIComponent(logsAuthHeader)}`,
      type: "secret" as const,
    },
    ...(attributes === "" ? [] : [{ name: "OTEL_RESOURCE_ATTRIBUTES", value: attributes, type: "plain" as const }]),
  ];
  return { ...config, environmentVariables: { variables: [...given, ...environmentVariables.variables] } };
}

/** As W3C Baggage has them. */
function pairs(attributes: Readonly<Record<string, unknown>>): string {
  return Object.entries(attributes)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`)
    .sort()
    .join(",");
}
