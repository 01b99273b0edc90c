{{- define "gvList" -}}
# API

Every field of the API, generated from its Go types by `make generate`; `kubectl explain` has the same. For what happens see
[CephBenchmark](benchmarks.md) and [CephTuningSweep](sweeps.md), for examples [`config/samples`](../config/samples).

A duration is such as `60s` or `1h30m`, a quantity such as `4Ki` or `20Gi`. Fields without **required** may be left out. What
stands beside a field under *limits* is checked when an object is written, and so are the rules under a type.
{{ range . }}
Group and version: `{{ .GroupVersionString }}`. Kinds:{{ range .SortedKinds }} [{{ . }}](#{{ lower . }}){{ end }}.
{{ $gv := . }}
{{- range .SortedKinds }}{{ template "type" $gv.TypeForKind . }}{{ end }}
{{- range .SortedTypes }}{{ if not .GVK }}{{ template "type" . }}{{ end }}{{ end }}
{{- end }}
{{- end -}}
