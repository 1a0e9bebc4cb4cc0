import { gzipSync } from "node:zlib";
import { tarOf } from "../../../kernel/tar.ts";

/** Part of the archive's address. A module published under a version never changes. */
export const MODULE_VERSION = "1.0.0";
/** Built into Terraform, so nothing is downloaded for it. */
export const MODULE_PROVIDER = "terraform.io/builtin/terraform";

const MAIN = `# Exchanges a manager's setup token for its runtime key, and leaves the key in a file.

terraform {
  required_version = ">= 1.4"
}

variable "manager_id" {
  type = string
}

variable "region" {
  type = string
}

variable "platform_url" {
  type = string
}

variable "setup_token" {
  description = "Valid for 24 hours, and until the manager is heard of."
  type        = string
  sensitive   = true
}

variable "key_file" {
  description = "Where the runtime key is left, for its owner alone to read."
  type        = string
  default     = "runtime.key"
}

# Not in the state: what a provisioner is given is not kept. Another token is another setup, and another key.
resource "terraform_data" "bootstrap" {
  triggers_replace = [var.manager_id, nonsensitive(sha256(var.setup_token))]

  provisioner "local-exec" {
    interpreter = ["/bin/sh", "-euc"]
    environment = {
      SETUP_TOKEN   = var.setup_token
      BOOTSTRAP_URL = "\${var.platform_url}/v1/managers/\${var.manager_id}/bootstrap"
      KEY_FILE      = var.key_file
    }
    command = <<-EOT
      umask 077
      answer=$(printf 'authorization: Bearer %s' "$SETUP_TOKEN" |
        curl --silent --show-error --fail --max-time 60 --request POST --header @- "$BOOTSTRAP_URL")
      key=$(printf '%s' "$answer" | sed -n 's/.*"apiKey":"\\([^"]*\\)".*/\\1/p')
      test -n "$key"
      printf '%s' "$key" > "$KEY_FILE"
    EOT
  }
}

output "manager_id" {
  value = var.manager_id
}

output "region" {
  value = var.region
}

output "key_file" {
  value      = var.key_file
  depends_on = [terraform_data.bootstrap]
}
`;

/** The Terraform module of a manager's setup, as an archive that Terraform fetches from its address. */
export async function moduleArchive(): Promise<Buffer> {
  return gzipSync(await tarOf([{ name: "main.tf", content: Buffer.from(MAIN) }]));
}
