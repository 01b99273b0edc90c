package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// writeManifest writes the manifest that "make deploy" applies, with the release's images.
func (r *release) writeManifest() error {
	manifest, err := r.manifest()
	if err != nil {
		return err
	}
	return r.write("install.yaml", manifest)
}

func (r *release) manifest() ([]byte, error) {
	manifest, err := r.command(nil, "make", "--no-print-directory", "-s", "manifest",
		"IMG="+r.reference(r.operatorImage()), "TOOLS_IMG="+r.reference(r.toolsImage()))
	if err != nil {
		return nil, err
	}
	if left := regexp.MustCompile(`ghcr\.io/\S+:dev\b`).Find(manifest); left != nil {
		return nil, fmt.Errorf("the manifest still names %s", left)
	}
	return r.publishedBy(manifest), nil
}

// writeTools copies the recipe of the images with Ceph's tools. It does not build these images, because
// that needs an image builder.
func (r *release) writeTools() error {
	for _, name := range []string{"tools/Dockerfile", "tools/build", "tools/licenses/README.md", "tools/licenses/GPL-2.0.txt", "references.env"} {
		data, err := os.ReadFile(filepath.Join(r.root, "images", name))
		if err != nil {
			return err
		}
		data = regexp.MustCompile(`(?m)^IMAGE_TAG=.*$`).ReplaceAll(r.publishedBy(data), []byte("IMAGE_TAG="+r.version))
		if err := r.write("tools/"+strings.TrimPrefix(name, "tools/"), data); err != nil {
			return err
		}
	}
	return os.Chmod(filepath.Join(r.out, "tools", "build"), 0o755)
}

// writeNotes writes the changelog's section of the version.
func (r *release) writeNotes() error {
	changelog, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	notes, err := notes(string(changelog), r.version)
	if err != nil {
		return err
	}
	return r.write("NOTES.md", []byte(notes))
}

// notes returns the section of a version, released or not: "## [0.1.0]" or "## [Unreleased] 0.1.0". A
// prerelease such as 0.1.0-rc.1 may use the unreleased section of 0.1.0.
func notes(changelog, version string) (string, error) {
	stable, _, _ := strings.Cut(version, "-")
	for _, title := range []string{"## [" + version + "]", "## [Unreleased] " + version, "## [Unreleased] " + stable} {
		for _, section := range strings.SplitAfter("\n"+changelog, "\n## ") {
			heading, body, _ := strings.Cut(section, "\n")
			heading = "## " + heading
			if heading == title || strings.HasPrefix(heading, title+" ") {
				return "# cephtune " + version + "\n\n" + strings.TrimSpace(strings.TrimSuffix(body, "\n## ")) + "\n", nil
			}
		}
	}
	return "", fmt.Errorf("CHANGELOG.md has no section for %s: add \"## [%s]\"", version, version)
}
