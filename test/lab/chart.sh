# Functions for tests that replace the lab's operator with an installation of the chart. Source this
# file after lib.sh and story.sh. WORK must name a folder, and RELEASE the Helm release.
# shellcheck shell=bash

# shellcheck disable=SC2034 # story.sh reads it
SWEEP=cephtuningsweep/helm

helm() { "$("$LAB/build/helm/build" --dir)/helm" --kubeconfig "$LAB_KUBECONFIG" --namespace "$SYSTEM" "$@"; }

release_status() { helm status "$RELEASE" -o json | jq -r .info.status; }

nobody_works() {
	local all
	all=$(kubectl get cephbenchmarks,cephtuningsweeps -A -o json) || return 1
	! jq -e '.items[] | select(.status.conditions // [] | any(.type == "Reconciling" and .status == "True"))' <<<"$all"
}

clients_ready() {
	wait_for 120 "Rook has made the keys" kubectl -n rook-ceph wait cephclient -l app.kubernetes.io/name=cephtune \
		--for=jsonpath='{.status.phase}'=Ready --timeout=0
}

# take_lab_operator_away builds Helm, and writes the image of the lab's operator to $WORK/image. Then it
# deletes all benchmarks and sweeps, and all objects with which that operator was deployed.
take_lab_operator_away() {
	"$LAB/build/helm/build" >&2
	node_pid >/dev/null || die "the lab is not up: make lab-up"
	"$LAB/lab" up operator
	nobody_works || die "a benchmark or sweep is working on the lab's cluster: let it end first"
	mkdir -p "$WORK"
	kubectl -n "$SYSTEM" get deploy/cephtune-manager -o 'jsonpath={.spec.template.spec.containers[0].image}' >"$WORK/image"
	# Deleting benchmarks and sweeps needs the operator, because only the operator removes their finalizers.
	end_all_work
	make --no-print-directory -C "$CHECKOUT" manifest MANIFESTS="$STATE/manifests/operator" IMG="$(cat "$WORK/image")" TOOLS_IMG="$TOOLS_IMAGE" |
		kubectl delete --ignore-not-found --timeout=180s -f -
	gone get namespace "$SYSTEM"
	gone get crd cephtuningsweeps.cephtune.dev
}

# uninstall_chart uninstalls the chart, and removes the objects that the chart keeps on purpose.
uninstall_chart() {
	helm uninstall "$RELEASE" --wait --timeout 5m
	gone -n "$SYSTEM" get deploy,job,service,role -l "app.kubernetes.io/instance=$RELEASE"
	gone -n rook-ceph get cephclient,role -l "app.kubernetes.io/instance=$RELEASE"
	gone get clusterrole,clusterrolebinding -l "app.kubernetes.io/instance=$RELEASE"
	there get crd cephtuningsweeps.cephtune.dev # because of the chart's value crds.keep
	there get namespace "$BENCH"
	kubectl delete crd cephbenchmarks.cephtune.dev cephtuningsweeps.cephtune.dev --timeout=120s
	kubectl delete namespace "$BENCH" "$SYSTEM" --timeout=180s
}

# end_all_work deletes every sweep and benchmark. It needs a running operator, which restores settings,
# tears down, and removes the finalizers. Without an operator, the objects and their namespaces would stay.
end_all_work() { kubectl delete cephtuningsweeps,cephbenchmarks -A --all --timeout=600s; }

# bring_lab_operator_back removes the chart, even if only parts of it are installed, and deploys the
# lab's operator. If the chart's manager runs, it ends all benchmarks and sweeps first. Otherwise the
# lab's operator ends them.
bring_lab_operator_back() {
	if kubectl -n "$SYSTEM" rollout status deploy/cephtune-manager --timeout=60s; then end_all_work; fi
	helm uninstall "$RELEASE" --no-hooks --ignore-not-found --wait --timeout 5m
	if kubectl -n "$BENCH" get cephtuningsweeps,cephbenchmarks -o name | grep .; then
		"$LAB/lab" up operator
		end_all_work
		return
	fi
	# Delete what the chart left, because the lab's kustomization would not take these objects over.
	kubectl delete namespace "$SYSTEM" "$BENCH" --ignore-not-found --timeout=300s
	"$LAB/lab" up operator
}

# start_sweep starts the sweep test/helm/sweep.yaml, and waits until it has changed Ceph.
start_sweep() {
	kubectl apply -f "$CHECKOUT/test/helm/sweep.yaml"
	wait_for 600 "the sweep has written its journal" journal_is_open
	wait_for 600 "the sweep has changed Ceph" changed
}

# valid_runs prints the number of trials. Earlier versions have them in status.runs.
valid_runs() { kubectl -n "$BENCH" get "$SWEEP" -o json | jq '.status.trials // .status.runs // [] | length'; }

measured_more_than() { [ "$(valid_runs)" -gt "$1" ]; }

# sweep_goes_on asserts that the sweep has not failed, completes another run, and still owns the
# journal.
sweep_goes_on() {
	local before
	before=$(valid_runs)
	is "the sweep's condition Failed" "$(sweep_field '{.status.conditions[?(@.type=="Failed")].status}')" ""
	wait_for 600 "the sweep has measured more than $before runs" measured_more_than "$before"
	is "the sweep whose journal it is" "$(journal | jq -r .sweep.uid)" "$(sweep_field '{.metadata.uid}')"
}

sweep_restored() { [ "$(sweep_field '{.status.conditions[?(@.type=="Restored")].status}')" = True ]; }
