# Builds the main packages of one module into the cache, once for each version
# of it. Sourced by the build script of each module, which sets MODULE_DIR.
# shellcheck shell=bash

# module_key prints a digest of what decides the result: the pinned modules and the compiler.
module_key() {
	(cd "$MODULE_DIR" && cat go.mod go.sum && go env GOVERSION GOARCH) |
		sha256sum | cut -c1-12
}

module_version() { # module_version MODULE: the version that go.mod pins
	(cd "$MODULE_DIR" && go list -m -f '{{.Version}}' "$1")
}

# build_tags prints the build tags that a comment in go.mod names.
build_tags() { sed -n 's|^// Build tags: ||p' "$MODULE_DIR/go.mod"; }

# build_into DIR NAME PACKAGE [LDFLAGS [TAGS]]: builds PACKAGE as DIR/NAME unless it is
# there. The name appears only when the file is whole.
build_into() {
	local dir=$1 name=$2 package=$3 ldflags=${4:-} tags=${5:-}
	[ -x "$dir/$name" ] && return
	local started=$SECONDS
	echo "building $name ($package)" >&2
	mkdir -p "$dir"
	# "go build" prints downloads only, so a long compilation would look like a slow download.
	(cd "$MODULE_DIR" && CGO_ENABLED=0 go list -tags "$tags" -deps "$package" >/dev/null) >&2
	echo "compiling $name" >&2
	(cd "$MODULE_DIR" && CGO_ENABLED=0 go build -tags "$tags" -trimpath -ldflags "-s -w $ldflags" -o "$dir/.$name.partial" "$package") >&2
	mv "$dir/.$name.partial" "$dir/$name"
	echo "built $name in $((SECONDS - started)) s" >&2
}
