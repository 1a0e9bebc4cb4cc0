# The chart comes from your registry: helm package deploy/helm/sallyport, helm push sallyport-0.1.0.tgz oci://registry.example.com/charts
# The provider installs and upgrades with Helm. See docs/gitops.md.
terraform {
  required_providers {
    helm = {
      source  = "hashicorp/helm"
      version = "~> 3.1"
    }
  }
}

provider "helm" {
  kubernetes = {
    config_path = "~/.kube/config"
  }
}

# The namespace and the Secret with the runtime key are there before: a key in Terraform would be in its state.
resource "helm_release" "sallyport" {
  name       = "sallyport"
  namespace  = "sallyport-system"
  repository = "oci://registry.example.com/charts"
  chart      = "sallyport"
  version    = "0.1.0"
  values     = [file("${path.module}/values.yaml")]
}
