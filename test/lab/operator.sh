# Builds the operator's image from a checkout for the lab's node. Source it after lib.sh.
# shellcheck shell=bash

# shellcheck source=image.sh
. "$LAB/image.sh"

# operator_image CHECKOUT FOLDER builds a checkout's operator in FOLDER, imports it into the node
# unless it is there, and prints the image's reference. The tag is the digest of the contents.
operator_image() {
	local checkout=$1 folder=$2 reference
	mkdir -p "$folder/root" "$folder/archive"
	"$checkout/images/operator/build" "$folder/root" >&2
	layer "$folder/root" "$folder/root.tar"
	reference=$OPERATOR_IMAGE_NAME:$(sha256sum "$folder/root.tar" | cut -c1-12)
	if ! node_run ctr -n k8s.io images list -q | grep -xF "$reference" >/dev/null; then
		rm -f "$folder/archive/"*
		image "$folder/archive" "$reference" '{"Entrypoint": ["/manager"], "User": "65532:65532"}' "$folder/root.tar"
		archive "$folder/archive" "$folder/image.tar"
		node_run ctr -n k8s.io images import - <"$folder/image.tar" >&2
	fi
	echo "$reference"
}
