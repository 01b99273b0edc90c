# Functions that check values and print results, for tests that run step by step on the lab. Source
# this file after lib.sh. The test must set SWEEP (KIND/NAME) and STEPS, the names of its steps.
# shellcheck shell=bash

SYSTEM=cephtune-system
BENCH=cephtune-bench

ceph() { "$LAB/lab" ceph "$@"; }

healthy() { [ "$(ceph health)" = HEALTH_OK ]; }

ok() { say "  ok: $*"; }

# is WHAT GOT WANT asserts that GOT equals WANT.
is() { [ "$2" = "$3" ] || die "$1 is '$2', want '$3'"; ok "$1 is '$3'"; }

gone() {
	local left
	left=$(kubectl "$@" --ignore-not-found -o name) || die "cannot tell: kubectl $*"
	[ -z "$left" ] || die "still there: kubectl $*"
	ok "gone: $*"
}

there() { kubectl "$@" >/dev/null || die "not there: kubectl $*"; ok "there: $*"; }

fsid() { kubectl -n rook-ceph get cephcluster my-cluster -o 'jsonpath={.status.ceph.fsid}'; }

journal() { kubectl -n "$SYSTEM" get configmap "cephtune-journal-$(fsid)" -o 'jsonpath={.data.journal\.json}'; }

open_entries() { journal 2>/dev/null | jq '[.entries[] | select(.state == "Open")] | length' 2>/dev/null || echo 0; }

journal_is_open() { [ "$(open_entries)" -gt 0 ]; }

# tunables prints the state of Ceph that the sweep may change: the OSDs' settings, whether the balancer
# is active, and the flags of the OSD map.
tunables() {
	{
		ceph config dump -f json | jq -c '[.[] | select(.section == "osd") | {name, mask, value}] | sort'
		ceph balancer status -f json | jq -c '{active}'
		ceph osd dump -f json | jq -c '{flags_set: (.flags_set | sort)}'
	}
}

changed() { [ "$(ceph config dump -f json | jq -r '.[] | select(.name == "osd_client_message_cap") | .value')" = 64 ]; }

sweep_field() { kubectl -n "$BENCH" get "$SWEEP" -o "jsonpath=$1"; }

run_steps() {
	local step started
	for step in "$@"; do
		declare -F "step_${step//-/_}" >/dev/null || die "no step is called $step; they are: ${STEPS[*]}"
		started=$SECONDS
		say "=== $step"
		"step_${step//-/_}"
		say "=== $step: done in $((SECONDS - started)) s"
	done
}
