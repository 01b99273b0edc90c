{{/* The prefix of the names of objects, except of those with an exactName (see cephtune.metadata). */}}
{{- define "cephtune.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else -}}
{{- $name := .Values.nameOverride | default "cephtune" -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" (.Release.Name | trunc (int (sub 39 (len $name))) | trimSuffix "-") $name -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The labels that select the manager's pods and the Service of its metrics. */}}
{{- define "cephtune.selectorLabels" -}}
app.kubernetes.io/name: cephtune
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: manager
{{- end -}}

{{- define "cephtune.labels" -}}
app.kubernetes.io/name: cephtune
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: cephtune
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The metadata of an object. The argument has root, and either name, which gets the prefix, or exactName,
     which does not. It may also have namespace, component, labels and annotations. */}}
{{- define "cephtune.metadata" -}}
metadata:
  name: {{ .exactName | default (printf "%s-%s" (include "cephtune.fullname" .root) .name) | quote }}
  {{- with .namespace }}
  namespace: {{ . | quote }}
  {{- end }}
  {{- /* The labels are merged first, because YAML allows each key only once. */}}
  {{- $labels := include "cephtune.labels" .root | fromYaml }}
  {{- with .component }}
  {{- $_ := set $labels "app.kubernetes.io/component" . }}
  {{- end }}
  {{- range $key, $value := .labels }}
  {{- $_ := set $labels $key $value }}
  {{- end }}
  labels:
    {{- toYaml $labels | nindent 4 }}
  {{- $annotations := dict }}
  {{- range $more := list .root.Values.commonAnnotations .annotations }}
  {{- range $key, $value := $more }}
  {{- $_ := set $annotations $key $value }}
  {{- end }}
  {{- end }}
  {{- with $annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- define "cephtune.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (printf "%s-manager" (include "cephtune.fullname" .)) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{/* The subjects of a binding: the manager's ServiceAccount. */}}
{{- define "cephtune.subjects" -}}
subjects:
- kind: ServiceAccount
  name: {{ include "cephtune.serviceAccountName" . | quote }}
  namespace: {{ .Release.Namespace | quote }}
{{- end -}}

{{/* The rules of the Role or ClusterRole named .role in the file .file of files/config, a copy of config/. */}}
{{- define "cephtune.rules" -}}
{{- $found := "" -}}
{{- range splitList "\n---\n" (.root.Files.Get (printf "files/config/%s" .file)) -}}
{{- $object := fromYaml . -}}
{{- if and (hasSuffix "Role" $object.kind) (eq $object.metadata.name $.role) -}}
{{- $found = toYaml $object.rules -}}
{{- end -}}
{{- end -}}
rules:
{{ required (printf "files/config/%s has no role %s" .file .role) $found }}
{{- end -}}

{{/* The reference of an image: repository with digest or tag. If global.imageRegistry is set, it replaces the registry. */}}
{{- define "cephtune.image" -}}
{{- $repository := .image.repository -}}
{{- with (.root.Values.global).imageRegistry -}}
{{- /* The repository's first part is a registry only if it has a dot or a port, or is localhost. */ -}}
{{- $repository = printf "%s/%s" (trimSuffix "/" .) (regexReplaceAll "^([^/]*[.:][^/]*|localhost)/" $repository "") -}}
{{- end -}}
{{- $tag := .image.tag | default .root.Chart.AppVersion -}}
{{- /* A released chart has the digests of the release's images. They hold in a mirror too. */ -}}
{{- $released := get (.root.Files.Get "digests.yaml" | fromYaml) (printf "%s:%s" .image.repository $tag) -}}
{{- if .image.digest -}}
{{- printf "%s@%s" $repository .image.digest -}}
{{- else if $released -}}
{{- printf "%s:%s@%s" $repository $tag $released -}}
{{- else -}}
{{- printf "%s:%s" $repository $tag -}}
{{- end -}}
{{- end -}}

{{- define "cephtune.operatorImage" -}}
{{- include "cephtune.image" (dict "root" . "image" .Values.images.operator) -}}
{{- end -}}

{{- define "cephtune.toolsImage" -}}
{{- include "cephtune.image" (dict "root" . "image" .Values.images.tools) -}}
{{- end -}}

{{/* A cluster's own tools image. Its repository defaults to that of images.tools. */}}
{{- define "cephtune.clusterToolsImage" -}}
{{- $image := dict "repository" (.image.repository | default .root.Values.images.tools.repository) "tag" .image.tag "digest" .image.digest -}}
{{- include "cephtune.image" (dict "root" .root "image" $image) -}}
{{- end -}}

{{/* A number of an option as text, because Helm would write a large number as 1e+06. */}}
{{- define "cephtune.number" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) -}}
{{- int64 . -}}
{{- else -}}
{{- . -}}
{{- end -}}
{{- end -}}

{{/* An entry of options, with min, max and values as text. */}}
{{- define "cephtune.option" -}}
{{- $option := omit . "min" "max" "values" -}}
{{- range $bound := list "min" "max" -}}
{{- if hasKey $ $bound -}}
{{- $_ := set $option $bound (include "cephtune.number" (get $ $bound)) -}}
{{- end -}}
{{- end -}}
{{- with .values -}}
{{- $values := list -}}
{{- range . -}}
{{- $values = append $values (include "cephtune.number" .) -}}
{{- end -}}
{{- $_ := set $option "values" $values -}}
{{- end -}}
{{- toYaml $option -}}
{{- end -}}

{{/* An entry of options, completed with the fields of the same option in a set. The set's bounds (min, max
and values) count only if the entry has no bounds. */}}
{{- define "cephtune.completed" -}}
{{- $option := deepCopy .option -}}
{{- $bounded := or (hasKey .option "min") (hasKey .option "max") (hasKey .option "values") -}}
{{- range $field, $given := .from -}}
{{- if not (or (hasKey $option $field) (and $bounded (has $field (list "min" "max" "values")))) -}}
{{- $_ := set $option $field $given -}}
{{- end -}}
{{- end -}}
{{- toYaml $option -}}
{{- end -}}

{{/* An entry of .Values.clusters. Where the entry lacks a field, the result has the chart's general value. The
options of optionSets are part of its options. */}}
{{- define "cephtune.cluster" -}}
{{- $all := .root.Values -}}
{{- $own := .cluster -}}
{{- $ownPowers := $own.powers | default dict -}}
{{- $powers := dict -}}
{{- range $power, $given := $all.powers -}}
{{- $_ := set $powers $power (ternary (get $ownPowers $power) $given (hasKey $ownPowers $power)) -}}
{{- end -}}
{{- $options := list -}}
{{- if $powers.changeSettings -}}
{{- $sets := .root.Files.Get "files/config/ceph-tuner/option-sets.yaml" | fromYaml -}}
{{- $inSets := dict -}}
{{- $order := list -}}
{{- range ternary $own.optionSets $all.optionSets (hasKey $own "optionSets") -}}
{{- range get $sets . -}}
{{- if not (hasKey $inSets .name) -}}
{{- $_ := set $inSets .name . -}}
{{- $order = append $order .name -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $named := list -}}
{{- range ternary $own.options $all.options (hasKey $own "options") -}}
{{- $option := . -}}
{{- if and (not .pool) (not .mask) (hasKey $inSets .name) -}}
{{- $option = include "cephtune.completed" (dict "option" . "from" (get $inSets .name)) | fromYaml -}}
{{- $named = append $named .name -}}
{{- end -}}
{{- $options = append $options (include "cephtune.option" $option | fromYaml) -}}
{{- end -}}
{{- range $order -}}
{{- if not (has . $named) -}}
{{- $options = append $options (include "cephtune.option" (get $inSets .) | fromYaml) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $pools := ternary $own.existingPools $all.existingPools (hasKey $own "existingPools") | default list -}}
{{- $merged := dict "namespace" $own.namespace "name" $own.name "existingPools" $pools "options" $options "powers" $powers -}}
{{- $classes := ternary $own.storageClasses $all.storageClasses (hasKey $own "storageClasses") -}}
{{- if kindIs "slice" $classes -}}
{{- $_ := set $merged "storageClasses" $classes -}}
{{- end -}}
{{- toYaml $merged -}}
{{- end -}}

{{/* The names of all scratch pools, as JSON. */}}
{{- define "cephtune.scratchPools" -}}
{{- $names := list -}}
{{- range $pool := list "cephtune-scratch" "cephtune-scratch-1" "cephtune-scratch-2" "cephtune-scratch-3" "cephtune-scratch-4" "cephtune-scratch-5" "cephtune-scratch-6" -}}
{{- $names = concat $names (list $pool (printf "%s-data" $pool)) -}}
{{- end -}}
{{- toJson $names -}}
{{- end -}}

{{/* The osd caps of cephtune-io, for a cluster that cephtune.cluster returned. */}}
{{- define "cephtune.ioCaps" -}}
{{- $caps := list -}}
{{- range concat (include "cephtune.scratchPools" . | fromJsonArray) .existingPools -}}
{{- $caps = append $caps (printf "profile rbd pool=%s" .) -}}
{{- end -}}
{{- join ",\n" $caps -}}
{{- end -}}

{{/* The mon caps of cephtune-tuner, for a cluster that cephtune.cluster returned. Ceph refuses all changes that
these caps do not name. */}}
{{- define "cephtune.tunerCaps" -}}
{{- $caps := list "allow r" -}}
{{- $held := list -}}
{{- range $option := .options -}}
{{- if .pool -}}
{{- $caps = append $caps (printf "allow command \"osd pool set\" with pool=%s var=%s" .pool .name) -}}
{{- if not (has .pool $held) -}}
{{- $held = append $held .pool -}}
{{- $caps = append $caps (printf "allow command \"osd pool set\" with pool=%s var=pg_autoscale_mode" .pool) -}}
{{- end -}}
{{- else -}}
{{- $who := ternary (printf "\"osd/%s\"" .mask) "osd" (not (empty .mask)) -}}
{{- range $command := list "config set" "config rm" -}}
{{- $caps = append $caps (printf "allow command %q with who=%s name=%s" $command $who $option.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $pool := list "cephtune-scratch" "cephtune-scratch-data" -}}
{{- $caps = append $caps (printf "allow command \"osd pool set\" with pool=%s" $pool) -}}
{{- end -}}
{{- range $flag := list "noscrub" "nodeep-scrub" -}}
{{- range $command := list "osd set" "osd unset" -}}
{{- $caps = append $caps (printf "allow command %q with key=%s" $command $flag) -}}
{{- end -}}
{{- end -}}
{{- if .powers.placePGs -}}
{{- $caps = append $caps "allow command \"osd pg-upmap\"" -}}
{{- end -}}
{{- join ",\n" $caps -}}
{{- end -}}

{{/* Fails if the values have a mistake that values.schema.json cannot detect. */}}
{{- define "cephtune.validate" -}}
{{- $rookNamespaces := list -}}
{{- if and .Values.uninstallCheck.enabled (not .Values.rbac.create) -}}
{{- fail "rbac.create is false, but the check before uninstalling needs its own Role: set uninstallCheck.enabled to false too, and run `kubectl cephtune restore` yourself before you uninstall cephtune" -}}
{{- end -}}
{{- if and .Values.clusters (not .Values.benchmarkNamespaces) -}}
{{- fail "clusters has entries, but benchmarkNamespaces is empty: list the namespaces in which benchmarks run, such as cephtune-bench" -}}
{{- end -}}
{{- range $own := .Values.clusters -}}
{{- if has .namespace $rookNamespaces -}}
{{- fail (printf "two entries of clusters are in namespace %s, but Rook has at most one CephCluster in a namespace: remove the wrong entry" .namespace) -}}
{{- end -}}
{{- $rookNamespaces = append $rookNamespaces .namespace -}}
{{- with .toolsImage -}}
{{- if not (or .tag .digest) -}}
{{- fail (printf "toolsImage of CephCluster %s/%s has neither tag nor digest: write the tag of an image with that cluster's version of Ceph, such as 0.1.0-ceph18" $own.namespace $own.name) -}}
{{- end -}}
{{- end -}}
{{- $cluster := include "cephtune.cluster" (dict "root" $ "cluster" .) | fromYaml -}}
{{- if and $cluster.powers.restartOSDs (not $cluster.powers.changeSettings) -}}
{{- fail (printf "CephCluster %s/%s has the power restartOSDs without changeSettings: the operator restarts OSDs only for settings that sweeps change, so set changeSettings to true or restartOSDs to false" .namespace .name) -}}
{{- end -}}
{{- if and $cluster.powers.placePGs (not $cluster.powers.changeSettings) -}}
{{- fail (printf "CephCluster %s/%s has the power placePGs without changeSettings: the operator places placement groups with the key of changeSettings, so set changeSettings to true or placePGs to false" .namespace .name) -}}
{{- end -}}
{{- range $cluster.options -}}
{{- if and .pool (not (has .pool $cluster.existingPools)) -}}
{{- fail (printf "option %s is for pool %s, which existingPools does not list for CephCluster %s/%s: add it, or remove the option" .name .pool $cluster.namespace $cluster.name) -}}
{{- end -}}
{{- if and (eq .name "osd_memory_target") (not .pool) (not .max) (not .values) -}}
{{- fail (printf "option osd_memory_target has no max for CephCluster %s/%s: the kernel kills an OSD that uses more memory than its pod may have, so set a max well below the memory limit of the OSDs' pods" $cluster.namespace $cluster.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if has .Release.Namespace $rookNamespaces -}}
{{- fail (printf "%s is Rook's namespace, so the operator cannot be installed in it: with its rights to write ConfigMaps and create Secrets there, it could act as Ceph's administrator; use another namespace, such as cephtune-system" .Release.Namespace) -}}
{{- end -}}
{{- range .Values.benchmarkNamespaces -}}
{{- if has . (list "kube-system" "kube-public" "kube-node-lease" "default") -}}
{{- fail (printf "%s is for Kubernetes itself, or for objects whose author names no namespace, so it cannot be among benchmarkNamespaces: users who may create pods there can use the Ceph key of benchmark pods; use another namespace, such as cephtune-bench" .) -}}
{{- end -}}
{{- if has . $rookNamespaces -}}
{{- fail (printf "%s is Rook's namespace, so it cannot be among benchmarkNamespaces: users who may create pods there can use the key of Ceph's administrator" .) -}}
{{- end -}}
{{- if eq . $.Release.Namespace -}}
{{- fail (printf "%s is the operator's own namespace, so it cannot be among benchmarkNamespaces: use another namespace, such as cephtune-bench" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The security context of the pods of the manager, hooks and tests. The next template is for their containers. */}}
{{- define "cephtune.podSecurityContext" -}}
{{- toYaml .Values.manager.podSecurityContext -}}
{{- end -}}

{{- define "cephtune.securityContext" -}}
{{- toYaml .Values.manager.securityContext -}}
{{- end -}}

{{/* The pull secrets and the scheduling of the pods of the manager, hooks and tests. */}}
{{- define "cephtune.placement" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
{{ toYaml . }}
{{- end }}
{{- with .Values.manager.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .Values.manager.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.manager.tolerations }}
tolerations:
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The operator config. internal/settings defines its format. */}}
{{- define "cephtune.config" -}}
{{- $clusters := list -}}
{{- range .Values.clusters -}}
{{- $cluster := include "cephtune.cluster" (dict "root" $ "cluster" .) | fromYaml -}}
{{- $identities := dict "observer" "cephtune-observer" "io" "cephtune-io" -}}
{{- $entry := dict "namespace" .namespace "name" .name "existingPools" $cluster.existingPools "identities" $identities -}}
{{- if hasKey $cluster "storageClasses" -}}
{{- $_ := set $entry "storageClasses" $cluster.storageClasses -}}
{{- end -}}
{{- with .toolsImage -}}
{{- $_ := set $entry "toolsImage" (include "cephtune.clusterToolsImage" (dict "root" $ "image" .)) -}}
{{- end -}}
{{- if $cluster.powers.changeSettings -}}
{{- $_ := set $identities "tuner" "cephtune-tuner" -}}
{{- $_ := set $entry "options" $cluster.options -}}
{{- end -}}
{{- if $cluster.powers.dropCaches -}}
{{- $_ := set $identities "cacheDropper" "cephtune-cache-dropper" -}}
{{- end -}}
{{- if $cluster.powers.restartOSDs -}}
{{- $_ := set $entry "restartOSDs" true -}}
{{- end -}}
{{- if $cluster.powers.stopOSDs -}}
{{- $_ := set $identities "osdStopper" "cephtune-osd-stopper" -}}
{{- $_ := set $entry "stopOSDs" true -}}
{{- end -}}
{{- if $cluster.powers.placePGs -}}
{{- $_ := set $entry "placePGs" true -}}
{{- end -}}
{{- if $cluster.powers.saturateExisting -}}
{{- $_ := set $entry "saturateExisting" true -}}
{{- end -}}
{{- $clusters = append $clusters $entry -}}
{{- end -}}
{{- $images := dict "tools" (include "cephtune.toolsImage" .) "runner" (include "cephtune.operatorImage" .) "pullPolicy" .Values.images.pullPolicy -}}
{{- with .Values.imagePullSecrets -}}
{{- $secrets := list -}}
{{- range . -}}{{- $secrets = append $secrets .name -}}{{- end -}}
{{- $_ := set $images "pullSecrets" $secrets -}}
{{- end -}}
{{- $pods := dict -}}
{{- range $key, $value := .Values.benchmarkPods -}}
{{- if $value -}}{{- $_ := set $pods $key $value -}}{{- end -}}
{{- end -}}
{{- toYaml (dict "clusters" $clusters "images" $images "pods" $pods) -}}
{{- end -}}
