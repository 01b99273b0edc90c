package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
)

func (r *release) chartArchive() string { return "cephtune-" + r.version + ".tgz" }

// writeChart packs the chart with the release's version. It does not run "helm package": that stores the
// current time, so no two of its archives would be equal. Helm's library then reads the packed chart, as a
// check.
func (r *release) writeChart() error {
	from, err := loader.LoadDir(filepath.Join(r.root, "charts", "cephtune"))
	if err != nil {
		return err
	}
	var files []file
	for _, f := range from.Raw {
		data := r.publishedBy(f.Data)
		switch f.Name {
		case "Chart.yaml":
			data = r.digests.pin(r.versioned(data))
		case "digests.yaml":
			if data, err = r.digests.yaml(); err != nil {
				return err
			}
		case "README.md":
			data = bytes.ReplaceAll(data, []byte(from.Metadata.Version), []byte(r.version))
		}
		files = append(files, file{"cephtune/" + f.Name, data, 0o644})
	}
	license, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return err
	}
	files = append(files, file{"cephtune/LICENSE", license, 0o644})
	packed, err := compressedTar(files, r.created)
	if err != nil {
		return err
	}
	made, err := loader.LoadArchive(bytes.NewReader(packed))
	if err != nil {
		return fmt.Errorf("read the packed chart: %w", err)
	}
	if err := r.check(made); err != nil {
		return err
	}
	return r.write(r.chartArchive(), packed)
}

// versioned returns Chart.yaml with the release's version instead of the version of the checkout. It also
// sets the annotation that marks prereleases.
func (r *release) versioned(text []byte) []byte {
	for _, change := range []struct{ from, to string }{
		{`(?m)^# The version of the next release\. This checkout is not released\.\n`, ""},
		{`(?m)^version: .*$`, "version: " + r.version},
		{`(?m)^appVersion: .*$`, `appVersion: "` + r.version + `"`},
		{`(?m)^(\s+image: ghcr\.io/\S+):dev$`, "${1}:" + r.version},
		{`(artifacthub\.io/prerelease): .*`, fmt.Sprintf(`${1}: "%t"`, strings.Contains(r.version, "-"))},
	} {
		text = regexp.MustCompile(change.from).ReplaceAll(text, []byte(change.to))
	}
	return text
}

// check compares the packed chart, as Helm has read it, with the release.
func (r *release) check(made *chart.Chart) error {
	if err := made.Validate(); err != nil {
		return err
	}
	if made.Metadata.Version != r.version || made.Metadata.AppVersion != r.version {
		return fmt.Errorf("the packed chart has version %s and appVersion %s, want %s", made.Metadata.Version, made.Metadata.AppVersion, r.version)
	}
	images := made.Metadata.Annotations["artifacthub.io/images"]
	for _, image := range []string{r.operatorImage(), r.toolsImage()} {
		if want := r.reference(image); !strings.Contains(images, want+"\n") {
			return fmt.Errorf("the packed chart does not name the image %s", want)
		}
	}
	for _, f := range made.Raw {
		if names := unpinned(f.Data); r.digests != nil && f.Name != "digests.yaml" && filepath.Ext(f.Name) == ".yaml" && len(names) > 0 {
			return fmt.Errorf("%s of the packed chart names %s without a digest", f.Name, names[0])
		}
	}
	return nil
}
