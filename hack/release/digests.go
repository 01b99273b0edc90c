package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"
)

// digests has the digest of each image of a release, by its name with a tag. A tag can be moved to another
// image, but only a digest is signed.
type digests map[string]string

// readDigests reads the tools images, which images/tools/build has pushed.
func (r *release) readDigests(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	r.digests = digests{}
	for line := range strings.Lines(string(text)) {
		name, digest, _ := strings.Cut(strings.TrimSpace(line), "@")
		if !regexp.MustCompile(`^sha256:[0-9a-f]{64}$`).MatchString(digest) {
			return fmt.Errorf("%s has the line %q, want NAME:TAG@sha256:…", file, line)
		}
		r.digests[name] = digest
	}
	return nil
}

// addDigest adds the operator's image.
func (r *release) addDigest(index v1.ImageIndex) error {
	if r.digests == nil {
		return nil
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	r.digests[r.operatorImage()+":"+r.version] = digest.String()
	return nil
}

// reference returns the name of an image of the release: with its digest, if that is known.
func (r *release) reference(image string) string {
	return string(r.digests.pin([]byte(image + ":" + r.version)))
}

// tagged matches the name of an image of cephtune with a tag, and with a digest if it has one.
func tagged() *regexp.Regexp {
	return regexp.MustCompile(`\bghcr\.io/[a-z0-9-]+/(?:cephtune|tools):[A-Za-z0-9_][A-Za-z0-9_.-]*(@sha256:[0-9a-f]{64})?`)
}

// pin adds the digests that are known to the names of images in a text.
func (d digests) pin(text []byte) []byte {
	return tagged().ReplaceAllFunc(text, func(name []byte) []byte {
		if digest := d[string(name)]; digest != "" {
			return append(bytes.Clone(name), "@"+digest...)
		}
		return name
	})
}

// yaml returns the chart's file with the digests, from which its templates take them.
func (d digests) yaml() ([]byte, error) {
	if len(d) == 0 {
		return []byte("{}\n"), nil
	}
	return yaml.Marshal(d)
}

// checkPinned returns an error if a file of the release still names an image by tag alone. A release without
// digests is a trial, which "make publish" does not push to a public registry.
func (r *release) checkPinned() error {
	if r.digests == nil {
		return nil
	}
	if r.digests[r.toolsImage()+":"+r.version] == "" {
		return fmt.Errorf("the file with the digests lacks %s:%s", r.toolsImage(), r.version)
	}
	var problems []error
	err := filepath.WalkDir(r.out, func(path string, entry fs.DirEntry, err error) error {
		switch extension := filepath.Ext(path); {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == workName:
			return fs.SkipDir
		case entry.IsDir() || extension != ".yaml" && extension != ".json":
			return nil
		}
		text, err := os.ReadFile(path)
		for _, name := range unpinned(text) {
			problems = append(problems, fmt.Errorf("%s names %s without a digest", path, name))
		}
		return err
	})
	return errors.Join(err, errors.Join(problems...))
}

// unpinned returns the names of images without a digest in a text, apart from comments.
func unpinned(text []byte) []string {
	var names []string
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte("#")) {
			continue
		}
		for _, found := range tagged().FindAllSubmatch(line, -1) {
			if len(found[1]) == 0 {
				names = append(names, string(found[0]))
			}
		}
	}
	return names
}
