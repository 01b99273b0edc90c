{{- define "fields" }}{{ range $i, $name := . }}{{ if $i }}, {{ end }}`{{ $name }}`{{ end }}{{ end }}

{{- define "fieldType" }}
{{- if eq .Name "Duration" }}duration
{{- else if eq .Name "Quantity" }}quantity
{{- else if eq .Name "Time" }}time
{{- else }}{{ markdownRenderType . }}
{{- end }}
{{- end }}

{{- define "fieldDoc" }}
{{- if eq .Name "metadata" }}as of every object
{{- else }}{{ .Doc | trim | replace "\n" " " | replace "|" "\\|" }}
{{- end }}
{{- end }}

{{- /* What a type says of itself is not repeated beside each field that has it. */}}
{{- define "fieldLimits" }}
{{- $lines := list }}
{{- if index .Markers "required" }}{{ $lines = append $lines "**required**" }}{{ end }}
{{- if .Default }}{{ $lines = append $lines (printf "default `%s`" (.Default | replace "{  }" "{}")) }}{{ end }}
{{- $typed := .Type.Validation }}
{{- $worded := has .Type.Name (list "Duration" "Quantity") }}
{{- range .Validation }}
{{- $noise := regexMatch "^(Required|Optional|Type|XIntOrString|ExactlyOneOf|Enum)" . }}
{{- $noise = or $noise (has . $typed) (and $worded (regexMatch "^(MaxLength|Pattern)" .)) }}
{{- if not $noise }}{{ $lines = append $lines (. | replace ": " " " | replace "|" "\\|") }}{{ end }}
{{- end }}
{{- $own := index .Markers "kubebuilder:validation:XValidation" }}
{{- if ne (toString $own) (toString (index .Type.Markers "kubebuilder:validation:XValidation")) }}
{{- range $own }}{{ $lines = append $lines (.Message | replace "|" "\\|") }}{{ end }}
{{- end }}
{{- $lines | join "; " }}
{{- end }}

{{- define "limits" }}
{{- $lines := list }}
{{- range . }}
{{- if not (regexMatch "^(Required|Optional|Type|XIntOrString|ExactlyOneOf|Enum)" .) }}{{ $lines = append $lines (. | replace ": " " ") }}{{ end }}
{{- end }}
{{- $lines | join ", " }}
{{- end }}
