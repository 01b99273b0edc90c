# Functions for the parts monitoring-build and monitoring, and for tests that query Prometheus. Source
# this file after lib.sh.
# shellcheck shell=bash

MONITORING=monitoring                    # its namespace
MONITORING_RELEASE=kube-prometheus-stack # cephtune's chart has it by default as the value of the label "release"
# shellcheck disable=SC2034 # Parts read it.
MONITORING_PROGRAMS=(prometheus-operator alertmanager node-exporter kube-state-metrics prometheus)

monitoring_dir() { "$LAB/build/monitoring/build" "$1" --dir; }

# program_of IMAGE prints the program whose build folder has the binaries of IMAGE.
program_of() { case $1 in prometheus-config-reloader) echo prometheus-operator ;; *) echo "$1" ;; esac; }

# monitoring_image IMAGE prints the reference of IMAGE. Its tag is the digest of the build's inputs.
monitoring_image() {
	local dir
	dir=$(monitoring_dir "$(program_of "$1")")
	echo "cephtune.lab/$1:${dir##*-}"
}

monitoring_archive() {
	local program dirs=()
	for program in "${MONITORING_PROGRAMS[@]}"; do dirs+=("$(monitoring_dir "$program")"); done
	echo "$(cache_entry monitoring "$LAB/parts/monitoring-build" "$LAB/image.sh" "${dirs[@]}").tar"
}

# of_service SERVICE PORT PATH sends a request to a monitoring service, through the API server.
of_service() { kubectl get --raw "/api/v1/namespaces/$MONITORING/services/$MONITORING_RELEASE-$1:$2/proxy$3"; }

of_prometheus() { of_service prometheus http-web "/api/v1/$1"; }

# query EXPRESSION prints the values of a query, one a line.
query() { of_prometheus "query?query=$(jq -rn --arg query "$1" '$query | @uri')" | jq -r '.data.result[].value[1]'; }
