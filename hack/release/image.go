package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// imageArchive returns the file name of the operator's image, which is an OCI layout in a tar archive.
func (r *release) imageArchive() string { return "cephtune-" + r.version + ".oci.tar" }

// writeImage builds the programs for each platform of nodes. It packs them as one image
// without a base image.
func (r *release) writeImage() error {
	for _, p := range r.nodes {
		folder := r.imageFolder(p)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		if _, err := r.command([]string{"GOOS=" + p.os, "GOARCH=" + p.arch, "VERSION=" + r.tag()}, "images/operator/build", folder); err != nil {
			return err
		}
		for _, name := range []string{"manager", "runner", "generator"} {
			if err := checkLicenses(filepath.Join(folder, name), filepath.Join(folder, "licenses", thirdParty)); err != nil {
				return err
			}
		}
	}
	index, err := r.index()
	if err != nil {
		return err
	}
	folder := filepath.Join(r.work(), "layout")
	if err := r.writeLayout(folder, index); err != nil {
		return err
	}
	return r.packLayout(folder)
}

// index returns the index of the images of all platforms, and notes its digest.
func (r *release) index() (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range r.nodes {
		image, err := r.image(p, r.imageFolder(p))
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.arch}},
		})
	}
	return index, r.addDigest(index)
}

// image returns the image of one platform. Its user is not root.
func (r *release) image(p platform, folder string) (v1.Image, error) {
	var files []file
	for _, name := range []string{"manager", "runner", "generator"} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, data, 0o755})
	}
	for _, name := range []string{"licenses/LICENSE", "licenses/" + thirdParty} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, data, 0o644})
	}
	packed, err := plainTar(files, r.created)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: v1.Time{Time: r.created}, CreatedBy: "make release"},
	})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = p.os, p.arch
	config.Created = v1.Time{Time: r.created}
	config.Config = v1.Config{Entrypoint: []string{"/manager"}, User: "65532:65532", Labels: r.labels()}
	return mutate.ConfigFile(image, config)
}

func (r *release) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":    "cephtune",
		"org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.source":   "https://github.com/" + r.publisher + "/cephtune",
		"org.opencontainers.image.version":  r.version,
		"org.opencontainers.image.revision": r.revision,
	}
}

// writeLayout writes the index as an OCI layout. An annotation contains the image name that the chart uses,
// so that containerd imports the image under this name.
func (r *release) writeLayout(folder string, index v1.ImageIndex) error {
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	return path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"io.containerd.image.name":          r.operatorImage() + ":" + r.version,
		"org.opencontainers.image.ref.name": r.version,
	}))
}

func (r *release) packLayout(folder string) error {
	var files []file
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		files = append(files, file{filepath.ToSlash(name), data, 0o644})
		return err
	})
	if err != nil {
		return fmt.Errorf("read the image's layout: %w", err)
	}
	packed, err := plainTar(files, r.created)
	if err != nil {
		return err
	}
	return r.write(r.imageArchive(), packed)
}
