{{- define "type" }}
{{- if markdownShouldRenderType . }}
## {{ .Name }}

{{ regexReplaceAll "(?m)^\\t" (trim .Doc) "" }}
{{ if and .IsAlias (not .EnumValues) }}
A {{ .UnderlyingType.Name }}{{ with .Validation }}: {{ template "limits" . }}{{ end }}.
{{ end }}
{{- if .References }}
In:{{ range .SortedReferences }} {{ markdownRenderTypeLink . }}{{ end }}
{{ end }}
{{- with index .Markers "kubebuilder:validation:ExactlyOneOf" }}
Exactly one of {{ range . }}{{ template "fields" . }}{{ end }}.
{{ end }}
{{- with index .Markers "kubebuilder:validation:XValidation" }}
{{ range . }}- {{ .Message }}
{{ end }}{{ end }}
{{- if and .Members (not .IsAlias) }}
| field | | default, limits |
|---|---|---|
{{ if .GVK }}| `apiVersion` string | `{{ .GVK.Group }}/{{ .GVK.Version }}` | |
| `kind` string | `{{ .GVK.Kind }}` | |
{{ end }}
{{- range .Members }}| `{{ .Name }}` {{ template "fieldType" .Type }} | {{ template "fieldDoc" . }} | {{ template "fieldLimits" . }} |
{{ end }}
{{- end }}
{{- if .EnumValues }}
| value | |
|---|---|
{{ range .EnumValues }}| `{{ .Name }}` | {{ .Doc | trim | replace "\n" " " | replace "|" "\\|" }} |
{{ end }}
{{- end }}
{{- end }}
{{- end }}
