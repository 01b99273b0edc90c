# What the stories share that install the chart on the lab in the place of its own operator.
# Sourced after lib.sh and story.sh by who has set WORK, a folder, and RELEASE.
# shellcheck shell=bash

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

# take_lab_operator_away builds Helm, notes the image of the lab's operator in $WORK/image,
# and removes that operator as it was deployed.
take_lab_operator_away() {
	"$LAB/build/helm/build" >&2
	node_pid >/dev/null || die "the lab is not up: make lab-up"
	"$LAB/lab" up operator
	nobody_works || die "somebody works on the lab's cluster: let that end first"
	mkdir -p "$WORK"
	kubectl -n "$SYSTEM" get deploy/cephtune-manager -o 'jsonpath={.spec.template.spec.containers[0].image}' >"$WORK/image"
	# Before the operator goes, without which nothing would take their finalizers off.
	end_all_work
	make --no-print-directory -C "$CHECKOUT" manifest MANIFESTS="$STATE/manifests/operator" IMG="$(cat "$WORK/image")" TOOLS_IMG="$TOOLS_IMAGE" |
		kubectl delete --ignore-not-found --timeout=180s -f -
	gone get namespace "$SYSTEM"
	gone get crd cephtuningsweeps.cephtune.dev
}

# uninstall_chart removes all of it, and what it leaves on purpose.
uninstall_chart() {
	helm uninstall "$RELEASE" --wait --timeout 5m
	gone -n "$SYSTEM" get deploy,job,service,role -l "app.kubernetes.io/instance=$RELEASE"
	gone -n rook-ceph get cephclient,role -l "app.kubernetes.io/instance=$RELEASE"
	gone get clusterrole,clusterrolebinding -l "app.kubernetes.io/instance=$RELEASE"
	there get crd cephtuningsweeps.cephtune.dev # crds.keep
	there get namespace "$BENCH"
	kubectl delete crd cephbenchmarks.cephtune.dev cephtuningsweeps.cephtune.dev --timeout=120s
	kubectl delete namespace "$BENCH" "$SYSTEM" --timeout=180s
}

# end_all_work deletes every sweep and benchmark, which the operator restores and removes
# before they go. Without an operator they would stay, and their namespaces with them.
end_all_work() { kubectl delete cephtuningsweeps,cephbenchmarks -A --all --timeout=600s; }

# bring_lab_operator_back does that whatever there is of the chart. A sweep that is still at work is
# ended by the chart's manager, or, where that is gone, by the lab's.
bring_lab_operator_back() {
	if kubectl -n "$SYSTEM" rollout status deploy/cephtune-manager --timeout=60s; then end_all_work; fi
	helm uninstall "$RELEASE" --no-hooks --ignore-not-found --wait --timeout 5m
	if kubectl -n "$BENCH" get cephtuningsweeps,cephbenchmarks -o name | grep .; then
		"$LAB/lab" up operator
		end_all_work
		return
	fi
	# What is left of the chart would not be the kustomization's.
	kubectl delete namespace "$SYSTEM" "$BENCH" --ignore-not-found --timeout=300s
	"$LAB/lab" up operator
}
