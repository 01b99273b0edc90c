# Writes container images as a docker archive: manifest.json, for each image a
# config that names its layers by the digest of their tar, and the layers, which
# images share. Sourced.
# shellcheck shell=bash

# shellcheck disable=SC2034 # Who sources this reads it.
IMAGE_PATH='"Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]'

# layer FOLDER TAR packs a folder as root's, the same bytes each time.
layer() { tar --numeric-owner --owner=0 --group=0 --mtime=@0 --sort=name -C "$1" -cf "$2" .; }

# image FOLDER REFERENCE CONFIG LAYER… adds an image to the archive that grows in
# FOLDER. CONFIG is its OCI config as JSON; LAYERs are tars, the lowest first.
image() {
	local folder=$1 reference=$2 config=$3 tar digest digests=() file
	shift 3
	for tar in "$@"; do
		digest=$(sha256sum "$tar" | cut -d' ' -f1)
		digests+=("$digest")
		ln -sf "$(realpath "$tar")" "$folder/$digest.tar"
	done
	file=$(tr -c 'A-Za-z0-9.\n' '-' <<<"$reference").json
	jq -n --argjson config "$config" '{architecture: "amd64", os: "linux", created: "1970-01-01T00:00:00Z", config: $config,
		rootfs: {type: "layers", diff_ids: [$ARGS.positional[] | "sha256:" + .]}}' --args "${digests[@]}" >"$folder/$file"
	[ -e "$folder/manifest.json" ] || echo '[]' >"$folder/manifest.json"
	jq --arg config "$file" --arg reference "$reference" \
		'. + [{Config: $config, RepoTags: [$reference], Layers: [$ARGS.positional[] + ".tar"]}]' \
		"$folder/manifest.json" --args "${digests[@]}" >"$folder/manifest.json.new"
	mv "$folder/manifest.json.new" "$folder/manifest.json"
}

# archive FOLDER TAR packs what image made.
archive() {
	tar --dereference -C "$1" -cf "$2.partial" .
	mv "$2.partial" "$2"
}
