# What pint asks of the rules of this project, beside what it always asks; test/chart/rules-lint.test.ts runs it.
rule {
  match {
    kind = "alerting"
  }
  annotation "summary" {
    required = true
    severity = "bug"
  }
  annotation "description" {
    required = true
    severity = "bug"
  }
  annotation "runbook_url" {
    required = true
    value    = "https://sallyport.dev/docs/runbooks/.+"
    severity = "bug"
  }
  label "severity" {
    required = true
    value    = "(critical|warning|info)"
    severity = "bug"
  }
}
rule {
  aggregate ".+" {
    keep     = [ "cluster", "namespace" ]
    severity = "bug"
  }
}
