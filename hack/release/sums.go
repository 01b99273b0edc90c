package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// writeSBOMs writes a bill of materials for each program. cyclonedx-gomod reads the list of modules from
// the program. The bills have no time and no serial number, because these would differ each time.
func (r *release) writeSBOMs() error {
	programs := map[string]string{}
	for _, p := range r.platforms {
		programs[r.pluginBinary(p)] = "kubectl-cephtune-" + p.String()
	}
	for _, p := range r.nodes {
		for _, name := range []string{"manager", "runner", "generator"} {
			programs[filepath.Join(r.imageFolder(p), name)] = name + "-" + p.String()
		}
	}
	if err := os.MkdirAll(filepath.Join(r.out, "sbom"), 0o755); err != nil {
		return err
	}
	for path, name := range programs {
		_, err := r.command(nil, "go", "tool", "-modfile=hack/release/go.mod", "cyclonedx-gomod", "bin", "-json", "-std", "-noserial", "-notimestamp",
			"-version", r.tag(), "-output", filepath.Join(r.out, "sbom", name+".cdx.json"), path)
		if err != nil {
			return err
		}
	}
	return nil
}

// writeSums writes the manifest for krew, kubectl's plugin manager, and then the checksums of all files.
func (r *release) writeSums() error {
	if err := r.writeKrew(); err != nil {
		return err
	}
	var sums strings.Builder
	err := filepath.WalkDir(r.out, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == r.work():
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		name, err := filepath.Rel(r.out, path)
		if err != nil {
			return err
		}
		sum, err := sha256Of(path)
		fmt.Fprintf(&sums, "%s  %s\n", sum, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		return err
	}
	return r.write(marker, []byte(sums.String()))
}

func sha256Of(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// krewPlugin is the manifest for krew, and krewPlatform describes one download in the manifest.
type krewPlugin struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       krewSpec          `json:"spec"`
}

type krewSpec struct {
	Version          string         `json:"version"`
	Homepage         string         `json:"homepage"`
	ShortDescription string         `json:"shortDescription"`
	Description      string         `json:"description"`
	Platforms        []krewPlatform `json:"platforms"`
}

type krewPlatform struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	URI    string `json:"uri"`
	SHA256 string `json:"sha256"`
	Bin    string `json:"bin"`
}

func (r *release) writeKrew() error {
	plugin := krewPlugin{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin",
		Metadata: map[string]string{"name": "cephtune"},
		Spec: krewSpec{
			Version: r.tag(), Homepage: "https://github.com/" + r.publisher + "/cephtune",
			ShortDescription: "Benchmark and tune Rook/Ceph clusters on evidence",
			Description: "Runs benchmarks and tuning sweeps of cephtune's operator on a Rook cluster, follows them,\n" +
				"and makes reports of them. \"analyze\" compares files of fio, rados bench and rbd bench,\n" +
				"and needs neither the operator nor a cluster.\n",
		},
	}
	for _, p := range r.platforms {
		sum, err := sha256Of(filepath.Join(r.out, r.archiveName(p)))
		if err != nil {
			return err
		}
		download := krewPlatform{
			URI: r.downloads() + "/" + r.tag() + "/" + r.archiveName(p), SHA256: sum, Bin: p.binary("kubectl-cephtune"),
		}
		download.Selector.MatchLabels = map[string]string{"os": p.os, "arch": p.arch}
		plugin.Spec.Platforms = append(plugin.Spec.Platforms, download)
	}
	data, err := yaml.Marshal(plugin)
	if err != nil {
		return err
	}
	return r.write("krew/cephtune.yaml", data)
}
