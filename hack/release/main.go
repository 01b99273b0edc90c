// Command release writes all parts of a release into a folder: programs, the operator's image, the recipe
// of the images with Ceph's tools, the chart, manifests, bills of materials, checksums and notes. It needs
// no image builder and no registry. The same checkout results in the same bytes.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	r := &release{now: time.Now}
	flag.StringVar(&r.version, "version", "", "the version, such as 0.1.0")
	flag.StringVar(&r.publisher, "publisher", "cephtune", "the account under which images, charts and downloads are published")
	flag.StringVar(&r.only, "platforms", "", "for a trial, only these platforms of the plugin, such as linux/amd64,linux/arm64")
	flag.Func("digests", "a file with a line NAME:TAG@DIGEST for each published tools image; the release then names all images by digest", r.readDigests)
	flag.StringVar(&r.root, "root", "../..", "the checkout")
	flag.StringVar(&r.out, "out", "../../dist", "the folder for the release; if it has an earlier release, that is removed first")
	flag.Parse()
	if err := r.run(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release has the flags of this program, and the facts about the commit from which it makes the release.
type release struct {
	version   string // without v
	publisher string
	only      string     // the platforms of a trial
	platforms []platform // of the plugin
	nodes     []platform // of both images
	root, out string
	now       func() time.Time
	digests   digests   // of the release's images; nil for a trial, which names images by tag
	created   time.Time // the time of the commit
	revision  string
}

// tag returns the version with the prefix v, as in Git tags and on download pages.
func (r *release) tag() string { return "v" + r.version }

// operatorImage and toolsImage return the names of the published images.
func (r *release) operatorImage() string { return r.registry() + "/cephtune" }
func (r *release) toolsImage() string    { return r.registry() + "/tools" }

// registry returns the address below which images and charts are published. downloads returns the address
// below which the files of all releases are published.
func (r *release) registry() string { return "ghcr.io/" + r.publisher }

func (r *release) downloads() string {
	return "https://github.com/" + r.publisher + "/cephtune/releases/download"
}

// publishedBy replaces the account cephtune with the publisher in the addresses of images, of the chart and
// of the GitHub repository.
func (r *release) publishedBy(text []byte) []byte {
	text = regexp.MustCompile(`\bghcr\.io/cephtune/`).ReplaceAll(text, []byte("ghcr.io/"+r.publisher+"/"))
	return regexp.MustCompile(`\b(github|raw\.githubusercontent)\.com/cephtune/cephtune\b`).ReplaceAll(text, []byte("${1}.com/"+r.publisher+"/cephtune"))
}

func (r *release) run() error {
	if err := r.prepare(); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"the kubectl plugin", r.writePlugins},
		{"the operator's image", r.writeImage},
		{"the recipe of the tools' images", r.writeTools},
		{"the chart", r.writeChart},
		{"install.yaml", r.writeManifest},
		{"the notes", r.writeNotes},
		{"bills of materials", r.writeSBOMs},
		{"checksums and the manifest for krew", r.writeSums},
		{"the images' digests", r.checkPinned},
	} {
		started := r.now()
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Fprintf(os.Stderr, "%4.0f s  %s\n", r.now().Sub(started).Seconds(), step.name)
	}
	return os.RemoveAll(r.work())
}

// work returns the folder for programs and the image's layout while the release is being built.
func (r *release) work() string { return filepath.Join(r.out, workName) }

const workName = ".work"

// marker is the file that this program writes last. A folder with this file has a complete release.
const marker = "SHA256SUMS"

// prepare checks the flags, reads the commit, and creates an empty folder.
func (r *release) prepare() error {
	if !regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`).MatchString(r.version) {
		return fmt.Errorf("%q is not a version: write one such as 0.1.0 or 0.2.0-rc.1", r.version)
	}
	if !regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(r.publisher) {
		return fmt.Errorf("%q is not an account: use small letters, digits and hyphens", r.publisher)
	}
	for _, path := range []*string{&r.root, &r.out} {
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return err
		}
		*path = absolute
	}
	for _, read := range []func() error{r.readPlatforms, r.readCommit} {
		if err := read(); err != nil {
			return err
		}
	}
	if err := emptyFolder(r.out); err != nil {
		return err
	}
	return os.MkdirAll(r.work(), 0o755)
}

// emptyFolder removes the folder of an earlier release. It fails if the folder has an entry that no release
// has written. It skips this check if the folder has the entry .work, because an interrupted release may
// have no checksums yet.
func emptyFolder(name string) error {
	entries, err := os.ReadDir(name)
	if os.IsNotExist(err) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(entries, func(entry os.DirEntry) bool { return entry.Name() == workName }) {
		if err := onlyReleased(name, entries); err != nil {
			return err
		}
	}
	return os.RemoveAll(name)
}

// onlyReleased returns an error unless the folder's checksums list each entry of the folder. The file with
// the checksums itself need not be listed. A subfolder counts as listed if one of its files is.
func onlyReleased(name string, entries []os.DirEntry) error {
	sums, err := os.ReadFile(filepath.Join(name, marker))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	released := map[string]bool{marker: err == nil}
	for line := range strings.Lines(string(sums)) {
		if _, file, found := strings.Cut(strings.TrimSpace(line), "  "); found {
			top, _, _ := strings.Cut(file, "/")
			released[top] = true
		}
	}
	for _, entry := range entries {
		if !released[entry.Name()] {
			return fmt.Errorf("%s has %s, which no release has written: name another folder, or empty this one", name, entry.Name())
		}
	}
	return nil
}
