# Builds the operator's image from a checkout for the lab's nodes. Source this file after lib.sh.
# shellcheck shell=bash

# shellcheck source=image.sh
. "$LAB/image.sh"

# operator_image CHECKOUT FOLDER builds the operator's image in FOLDER, and imports it into each node
# that lacks it. It prints the image's reference, whose tag is the digest of the contents. Most
# commands need `|| return`, because Bash ignores `set -e` in the caller's command substitution. Without
# `|| return`, the image of an earlier build would be tested after a failed build.
operator_image() {
	local checkout=$1 folder=$2 reference NODE
	mkdir -p "$folder/root" "$folder/archive"
	"$checkout/images/operator/build" "$folder/root" >&2 || return
	layer "$folder/root" "$folder/root.tar" || return
	reference=$OPERATOR_IMAGE_NAME:$(sha256sum "$folder/root.tar" | cut -c1-12)
	# shellcheck disable=SC2034 # node_run reads it
	for NODE in $(nodes); do
		if node_run ctr -n k8s.io images list -q | grep -xF "$reference" >/dev/null; then continue; fi
		rm -f "$folder/archive/"*
		image "$folder/archive" "$reference" '{"Entrypoint": ["/manager"], "User": "65532:65532"}' "$folder/root.tar" || return
		archive "$folder/archive" "$folder/image.tar" || return
		node_run ctr -n k8s.io images import - <"$folder/image.tar" >&2 || return
	done
	echo "$reference"
}
