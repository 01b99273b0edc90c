package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/yaml"
)

// madeRelease prepares a release in a folder of the test.
func madeRelease(t *testing.T, version string) *release {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	r := &release{
		version: version, publisher: "cephtune", root: root, out: t.TempDir(), now: time.Now,
		created: time.Unix(1_700_000_000, 0).UTC(), revision: "0123abc",
	}
	if err := r.readPlatforms(); err != nil {
		t.Fatal(err)
	}
	return r
}

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// unpacked reads the files of a tar.
func unpacked(t *testing.T, in io.Reader) map[string]string {
	t.Helper()
	files := map[string]string{}
	for r := tar.NewReader(in); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(data)
	}
}

// writeFiles writes everything that needs no compiler. The programs are dummies.
func writeFiles(t *testing.T, r *release) {
	t.Helper()
	for _, p := range r.platforms {
		put(t, r.pluginBinary(p), "plugin for "+p.String())
		put(t, r.pluginLicenses(p), "licences for "+p.String())
		if err := r.packPlugin(p); err != nil {
			t.Fatal(err)
		}
	}
	for _, do := range []func() error{r.writeTools, r.writeChart, r.writeNotes, r.writeSums} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSameInputSameBytes(t *testing.T) {
	first, second := madeRelease(t, "0.1.0"), madeRelease(t, "0.1.0")
	writeFiles(t, first)
	writeFiles(t, second)
	sums := read(t, first.out, marker)
	if got := read(t, second.out, marker); !bytes.Equal(got, sums) {
		t.Errorf("checksums are others the second time:\n%s\n%s", sums, got)
	}
	if lines := bytes.Count(sums, []byte("\n")); lines != len(first.platforms)+8 {
		t.Errorf("checksums of %d files:\n%s", lines, sums)
	}
}

func TestPluginsAreProgramsWithTheirLicenses(t *testing.T) {
	r := madeRelease(t, "0.1.0")
	writeFiles(t, r)
	for _, p := range r.platforms {
		data := read(t, r.out, r.archiveName(p))
		files := map[string]string{}
		if p.os == "windows" {
			archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range archive.File {
				in, err := f.Open()
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(in)
				if err != nil {
					t.Fatal(err)
				}
				files[f.Name] = string(text)
			}
		} else {
			in, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			files = unpacked(t, in)
		}
		if files[p.binary("kubectl-cephtune")] != "plugin for "+p.String() || !strings.Contains(files["LICENSE"], "Apache License") ||
			files[thirdParty] != "licences for "+p.String() || len(files) != 3 {
			t.Errorf("%s holds %v", r.archiveName(p), files)
		}
	}
}

// TestLinkedModulesNeedTheirLicenses asks for the licences of the modules that this test itself links.
func TestLinkedModulesNeedTheirLicenses(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil || len(info.Deps) == 0 {
		t.Fatalf("%v, %v", info, err)
	}
	texts := "\n"
	for i, m := range info.Deps {
		file := filepath.Join(t.TempDir(), "texts")
		put(t, file, texts)
		if err := checkLicenses(program, file); err == nil || !strings.Contains(err.Error(), m.Path) {
			t.Fatalf("with the first %d of %d: %v", i, len(info.Deps), err)
		}
		texts += m.Path + " " + m.Version + "\n"
	}
	file := filepath.Join(t.TempDir(), "texts")
	put(t, file, texts)
	if err := checkLicenses(program, file); err != nil {
		t.Error(err)
	}
}

// TestImage reads the layout with the library that clients of registries use.
func TestImage(t *testing.T) {
	r := madeRelease(t, "0.1.0")
	folder := filepath.Join(r.work(), "layout")
	for range 2 {
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
		before, _ := os.ReadFile(filepath.Join(r.out, r.imageArchive()))
		makeImage(t, r, folder)
		if after := read(t, r.out, r.imageArchive()); before != nil && !bytes.Equal(before, after) {
			t.Error("the archive is another one the second time")
		}
	}
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	top, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if name := top.Manifests[0].Annotations["io.containerd.image.name"]; name != "ghcr.io/cephtune/cephtune:0.1.0" {
		t.Errorf("the image is called %q", name)
	}
	inner, err := index.ImageIndex(top.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := inner.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var architectures []string
	for _, m := range manifest.Manifests {
		architectures = append(architectures, m.Platform.Architecture)
		image, err := inner.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Architecture != m.Platform.Architecture || config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{"/manager"}) {
			t.Errorf("configuration: %+v", config)
		}
		layers, err := image.Layers()
		if err != nil {
			t.Fatal(err)
		}
		content, err := layers[0].Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		files := unpacked(t, content)
		if len(layers) != 1 || files["manager"] != "manager for "+config.Architecture || files["runner"] == "" || files["generator"] == "" ||
			files["licenses/LICENSE"] == "" || files["licenses/THIRD-PARTY"] == "" || len(files) != 5 {
			t.Errorf("%d layers, the first with %v", len(layers), files)
		}
	}
	var want []string
	for _, p := range r.nodes {
		want = append(want, p.arch)
	}
	if !slices.Equal(architectures, want) {
		t.Errorf("architectures: %v, want %v", architectures, want)
	}
}

func makeImage(t *testing.T, r *release, folder string) {
	t.Helper()
	for _, p := range r.nodes {
		for _, name := range []string{"manager", "runner", "generator", "licenses/LICENSE", "licenses/THIRD-PARTY"} {
			put(t, filepath.Join(r.imageFolder(p), name), name+" for "+p.arch)
		}
	}
	index, err := r.index()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.writeLayout(folder, index); err != nil {
		t.Fatal(err)
	}
	if err := r.packLayout(folder); err != nil {
		t.Fatal(err)
	}
}

func TestChart(t *testing.T) {
	for version, prerelease := range map[string]string{"0.1.0": "false", "0.2.0-rc.1": "true"} {
		r := madeRelease(t, version)
		r.publisher = "somebody"
		if err := r.writeChart(); err != nil {
			t.Fatal(err)
		}
		made, err := loader.LoadFile(filepath.Join(r.out, r.chartArchive()))
		if err != nil {
			t.Fatal(err)
		}
		if got := made.Metadata.Annotations["artifacthub.io/prerelease"]; got != prerelease {
			t.Errorf("%s: prerelease is %q", version, got)
		}
		images := made.Values["images"].(map[string]any)
		if got := images["operator"].(map[string]any)["repository"]; got != "ghcr.io/somebody/cephtune" {
			t.Errorf("the operator's repository is %v", got)
		}
		if !slices.ContainsFunc(made.Files, func(f *chart.File) bool { return f.Name == "LICENSE" }) {
			t.Error("the chart has no licence")
		}
		for _, f := range made.Raw {
			if bytes.Contains(f.Data, []byte("0.1.0-dev")) || bytes.Contains(f.Data, []byte("ghcr.io/cephtune")) || bytes.Contains(f.Data, []byte(".com/cephtune/")) {
				t.Errorf("%s names what is not of this release", f.Name)
			}
		}
	}
}

func TestKrewNamesEachDownload(t *testing.T) {
	r := madeRelease(t, "0.1.0")
	writeFiles(t, r)
	var plugin krewPlugin
	if err := yaml.UnmarshalStrict(read(t, r.out, "krew", "cephtune.yaml"), &plugin); err != nil {
		t.Fatal(err)
	}
	if len(plugin.Spec.Platforms) != len(r.platforms) || plugin.Spec.Version != "v0.1.0" {
		t.Errorf("%+v", plugin)
	}
	for _, download := range plugin.Spec.Platforms {
		base, name, _ := strings.Cut(download.URI, "/v0.1.0/")
		sum, err := sha256Of(filepath.Join(r.out, name))
		if err != nil || sum != download.SHA256 || base != r.downloads() {
			t.Errorf("%+v: %v", download, err)
		}
	}
}

func TestNotes(t *testing.T) {
	const changelog = "# Changelog\n\n## [Unreleased] 0.2.0\n\n- new\n\n## [0.1.0] - 2026-01-02\n\n- first\n"
	for version, want := range map[string]string{"0.1.0": "- first", "0.2.0": "- new", "0.2.0-rc.1": "- new"} {
		got, err := notes(changelog, version)
		if err != nil || got != "# cephtune "+version+"\n\n"+want+"\n" {
			t.Errorf("%s: %q, %v", version, got, err)
		}
	}
	if _, err := notes(changelog, "0.3.0"); err == nil {
		t.Error("notes of a version that the changelog does not have")
	}
}

// TestPublishedFilesNameImagesByDigest makes all texts of a release that is to be published.
func TestPublishedFilesNameImagesByDigest(t *testing.T) {
	const version = "0.1.0"
	r := madeRelease(t, version)
	r.publisher = "somebody"
	file := filepath.Join(t.TempDir(), "digests")
	tools, operator := "sha256:"+strings.Repeat("a", 64), ""
	put(t, file, "ghcr.io/somebody/tools:0.1.0-ceph20@"+tools+"\nghcr.io/somebody/tools:0.1.0@"+tools+"\n")
	if err := r.readDigests(file); err != nil {
		t.Fatal(err)
	}
	makeImage(t, r, filepath.Join(r.work(), "layout"))
	if operator = r.digests["ghcr.io/somebody/cephtune:0.1.0"]; operator == "" {
		t.Fatal("the operator's image has no digest")
	}
	for _, do := range []func() error{r.writeChart, r.writeManifest, r.checkPinned} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	manifest := string(read(t, r.out, "install.yaml"))
	for _, want := range []string{
		"image: ghcr.io/somebody/cephtune:0.1.0@" + operator, "image: ghcr.io/somebody/tools:0.1.0@" + tools,
		"runner: ghcr.io/somebody/cephtune:0.1.0@" + operator, "tools: ghcr.io/somebody/tools:0.1.0@" + tools,
	} {
		if !strings.Contains(manifest, want+"\n") {
			t.Errorf("install.yaml lacks %q", want)
		}
	}
	made, err := loader.LoadFile(filepath.Join(r.out, r.chartArchive()))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range made.Raw {
		if f.Name == "digests.yaml" && (!bytes.Contains(f.Data, []byte("ghcr.io/somebody/cephtune:0.1.0: "+operator)) || !bytes.Contains(f.Data, []byte("tools:0.1.0-ceph20: "+tools))) {
			t.Errorf("the chart's digests: %s", f.Data)
		}
	}
	put(t, filepath.Join(r.out, "more", "more.yaml"), "# ghcr.io/somebody/tools:0.1.0 in a comment\nimage: ghcr.io/somebody/tools:0.1.0-ceph18\n")
	if err := r.checkPinned(); err == nil || !strings.Contains(err.Error(), "tools:0.1.0-ceph18") {
		t.Errorf("an image by its tag: %v", err)
	}
}

func TestDigestsThatAreNone(t *testing.T) {
	for name, text := range map[string]string{
		"a tag alone":    "ghcr.io/somebody/tools:0.1.0\n",
		"a short digest": "ghcr.io/somebody/tools:0.1.0@sha256:abc\n",
		"an error":       "docker: not found\n",
	} {
		file := filepath.Join(t.TempDir(), "digests")
		put(t, file, text)
		if err := madeRelease(t, "0.1.0").readDigests(file); err == nil {
			t.Errorf("%s is not refused", name)
		}
	}
	r := madeRelease(t, "0.1.0")
	r.digests = digests{}
	if err := r.checkPinned(); err == nil || !strings.Contains(err.Error(), "lacks ghcr.io/cephtune/tools:0.1.0") {
		t.Errorf("without the tools images: %v", err)
	}
}

// TestPublishRefusesTags runs the script on a release without digests.
func TestPublishRefusesTags(t *testing.T) {
	dist := t.TempDir()
	put(t, filepath.Join(dist, "install.yaml"), "spec:\n  containers:\n  - image: ghcr.io/somebody/cephtune:0.1.0\n")
	cmd := exec.Command("../publish", dist, "ghcr.io/somebody")
	cmd.Env = append(os.Environ(), "VERSION=0.1.0")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "by tag alone") {
		t.Errorf("%v: %s", err, out)
	}
}

// toolsBuilder returns a function that runs the recipe of a release, with a builder that only prints its
// arguments. In the registry of that builder, every image has the digest and the platforms.
func toolsBuilder(t *testing.T, r *release, digests string) func(push, digest, platforms string, lines ...string) (string, error) {
	t.Helper()
	builder := filepath.Join(t.TempDir(), "builder")
	put(t, builder, `#!/bin/sh
case "$*" in
*inspect*Platform*) echo "$HAS " ;;
*inspect*) echo "$DIGEST" ;;
*) echo "$@" ;;
esac
`)
	return func(push, digest, platforms string, lines ...string) (string, error) {
		cmd := exec.Command(filepath.Join(r.out, "tools", "build"), lines...)
		cmd.Env = append(os.Environ(), "CONTAINER_TOOL="+builder, "PUSH="+push, "CEPH_IMAGE=", "FIO_VERSION=", "VERSION=", "TOOLS_IMAGE=",
			"DIGESTS="+digests, "DIGEST="+digest, "HAS="+platforms)
		out, err := cmd.Output()
		return string(out), err
	}
}

// TestToolsAreBuiltByLine checks that pushed tools images are for every platform of nodes, and from exact versions.
func TestToolsAreBuiltByLine(t *testing.T) {
	r := madeRelease(t, "0.1.0")
	if err := r.writeTools(); err != nil {
		t.Fatal(err)
	}
	references := read(t, r.root, "images", "references.env")
	ceph := func(line string) string { return string(submatch(references, `(?m)^CEPH_IMAGE_`+line+`=(.*)$`)) }
	fio := string(submatch(references, `(?m)^FIO_VERSION=(.*)$`))
	var nodes []string
	for _, p := range r.nodes {
		nodes = append(nodes, p.os+"/"+p.arch)
	}
	written := filepath.Join(t.TempDir(), "digests")
	digest, has, folder := "sha256:"+strings.Repeat("b", 64), strings.Join(nodes, " "), filepath.Join(r.out, "tools")
	build := toolsBuilder(t, r, written)
	pushed := func(line, more string) string {
		return "buildx build --platform " + strings.Join(nodes, ",") + " --provenance=false --push --tag=ghcr.io/cephtune/tools:0.1.0-ceph" + line + more +
			" --build-arg CEPH_IMAGE=" + ceph(line) + "@" + digest + " --build-arg FIO_VERSION=" + fio +
			" --label org.opencontainers.image.base.name=" + ceph(line) + " --label org.opencontainers.image.base.digest=" + digest + " " + folder + "\n"
	}
	got, err := build("yes", digest, has+" unknown/unknown")
	if want := pushed("18", "") + pushed("20", " --tag=ghcr.io/cephtune/tools:0.1.0"); err != nil || got != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
	want := ""
	for _, tag := range []string{"0.1.0-ceph18", "0.1.0-ceph20", "0.1.0"} {
		want += "ghcr.io/cephtune/tools:" + tag + "@" + digest + "\n"
	}
	if lines := string(read(t, written)); lines != want {
		t.Errorf("digests:\n%s", lines)
	}
	want = "build --tag=ghcr.io/cephtune/tools:0.1.0-ceph18 --build-arg CEPH_IMAGE=" + ceph("18") + " --build-arg FIO_VERSION=" + fio + " " + folder + "\n"
	if out, err := build("", "", "", "18"); err != nil || out != want {
		t.Errorf("without a push: %q, %v", out, err)
	}
	for name, c := range map[string]struct{ digest, has, line string }{
		"a line that there is not":         {digest, has, "17"},
		"a base whose digest is unknown":   {"", has, "18"},
		"a base that lacks a platform":     {digest, nodes[0], "18"},
		"a base that is not for platforms": {digest, "", "18"},
	} {
		if out, err := build("yes", c.digest, c.has, c.line); err == nil || out != "" {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
}

// TestNextVersions runs the script with a git that knows other releases.
func TestNextVersions(t *testing.T) {
	for name, c := range map[string]struct {
		tags, want string
		fails      bool
	}{
		"as old as we": {"v0.1.0", "newest 0.2.0", false},
		"a minor more": {"v99.1.0 v9.9.9 v100.0.0-rc.1", "newest 99.1.0", true},
		"no releases":  {"v1.0.0-rc.1", "", true},
	} {
		folder := t.TempDir()
		put(t, filepath.Join(folder, "git"), "#!/bin/sh\nfor tag in $TAGS; do printf '0\\trefs/tags/%s\\n' \"$tag\"; done\n")
		cmd := exec.Command("../next-versions")
		// Ceph's releases are x.2.z.
		cmd.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"), "TAGS="+c.tags+" v0.2.0")
		if name == "no releases" {
			cmd.Env = append(cmd.Env, "TAGS="+c.tags)
		}
		out, err := cmd.Output()
		if (err != nil) != c.fails || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

func TestRefusals(t *testing.T) {
	foreign := t.TempDir()
	put(t, filepath.Join(foreign, "thesis.txt"), "mine")
	for name, change := range map[string]func(*release){
		"no version":      func(r *release) { r.version = "" },
		"version with v":  func(r *release) { r.version = "v0.1.0" },
		"publisher's URL": func(r *release) { r.publisher = "example.org/x" },
		"foreign folder":  func(r *release) { r.out = foreign },
	} {
		r := madeRelease(t, "0.1.0")
		change(r)
		if err := r.prepare(); err == nil {
			t.Errorf("%s is not refused", name)
		}
	}
	if read(t, foreign, "thesis.txt") == nil {
		t.Error("a file of somebody else is gone")
	}
}

func TestPlatformsOfATrial(t *testing.T) {
	r := madeRelease(t, "0.1.0")
	r.only = "linux/amd64,windows/arm64"
	if err := r.readPlatforms(); err != nil {
		t.Fatal(err)
	}
	if want := []platform{{"linux", "amd64"}, {"windows", "arm64"}}; !slices.Equal(r.platforms, want) {
		t.Errorf("got %v, want %v", r.platforms, want)
	}
	r.only = "plan9/amd64"
	if err := r.readPlatforms(); err == nil {
		t.Error("a platform that there is not is not refused")
	}
}

func TestFolderOfARelease(t *testing.T) {
	sums := strings.Repeat("0", 64) + "  old\n" + strings.Repeat("0", 64) + "  sbom/manager.cdx.json\n"
	for name, c := range map[string]struct {
		files   map[string]string
		refused string
	}{
		"a release":                {map[string]string{marker: sums, "old": "", "sbom/manager.cdx.json": ""}, ""},
		"an interrupted release":   {map[string]string{".work/manager": "", "old": ""}, ""},
		"a file beside a release":  {map[string]string{marker: sums, "old": "", "thesis.tex": ""}, "thesis.tex"},
		"checksums of other files": {map[string]string{marker: "", "old": ""}, "old"},
		"other files":              {map[string]string{"old": ""}, "old"},
	} {
		t.Run(name, func(t *testing.T) {
			r := madeRelease(t, "0.1.0")
			for file, text := range c.files {
				put(t, filepath.Join(r.out, file), text)
			}
			err := r.prepare()
			_, kept := os.Stat(filepath.Join(r.out, "old"))
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) || kept != nil {
					t.Errorf("got the error %v, want one with %q; the file that was there: %v", err, c.refused, kept)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !os.IsNotExist(kept) {
				t.Errorf("a file of the earlier release is still in the folder: %v", kept)
			}
			if r.created.IsZero() || len(r.revision) < 40 {
				t.Errorf("the commit is %s at %s", r.revision, r.created)
			}
		})
	}
}

func must(t *testing.T) func([]byte, error) []byte {
	return func(data []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
}
