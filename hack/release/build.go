package main

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// platform is an operating system and an architecture to build for.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "-" + p.arch }

// binary returns the file name of a program on the platform.
func (p platform) binary(name string) string {
	if p.os == "windows" {
		return name + ".exe"
	}
	return name
}

// readPlatforms reads the platforms of nodes and users, the only list of them, and chooses those of the plugin:
// all, or those that the flag lists.
func (r *release) readPlatforms() error {
	references, err := os.ReadFile(filepath.Join(r.root, "images", "references.env"))
	if err != nil {
		return err
	}
	list := func(name string) []platform {
		var all []platform
		for found := range strings.SplitSeq(string(submatch(references, `(?m)^`+name+`=(.*)$`)), ",") {
			system, architecture, _ := strings.Cut(found, "/")
			all = append(all, platform{system, architecture})
		}
		return all
	}
	r.nodes = list("NODE_PLATFORMS")
	r.platforms = append(slices.Clone(r.nodes), list("USER_PLATFORMS")...)
	if r.only == "" {
		return nil
	}
	all := r.platforms
	r.platforms = nil
	for name := range strings.SplitSeq(r.only, ",") {
		i := slices.IndexFunc(all, func(p platform) bool { return p.os+"/"+p.arch == name })
		if i < 0 {
			return fmt.Errorf("the plugin is not built for %q", name)
		}
		r.platforms = append(r.platforms, all[i])
	}
	return nil
}

// submatch returns what the pattern's group matches in a text.
func submatch(text []byte, pattern string) []byte {
	found := regexp.MustCompile(pattern).FindSubmatch(text)
	if found == nil {
		return nil
	}
	return found[1]
}

// pluginBinary returns the path of a built plugin, and imageFolder the folder of the image's built
// programs.
func (r *release) pluginBinary(p platform) string {
	return filepath.Join(r.work(), p.String(), p.binary("kubectl-cephtune"))
}

func (r *release) imageFolder(p platform) string { return filepath.Join(r.work(), "image-"+p.String()) }

// archiveName returns the file name of a plugin's download.
func (r *release) archiveName(p platform) string {
	extension := ".tar.gz"
	if p.os == "windows" {
		extension = ".zip"
	}
	return fmt.Sprintf("kubectl-cephtune_%s_%s_%s%s", r.tag(), p.os, p.arch, extension)
}

func (r *release) writePlugins() error {
	for _, p := range r.platforms {
		flags := "-s -w -X github.com/cephtune/cephtune/internal/version.release=" + r.tag()
		_, err := r.command([]string{"CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch},
			"go", "build", "-trimpath", "-ldflags", flags, "-o", r.pluginBinary(p), "./cmd/kubectl-cephtune")
		if err != nil {
			return err
		}
		texts, err := r.command(nil, "go", "run", "./hack/licenses", "-platform", p.os+"/"+p.arch, "./cmd/kubectl-cephtune")
		if err != nil {
			return err
		}
		if err := os.WriteFile(r.pluginLicenses(p), texts, 0o644); err != nil {
			return err
		}
		if err := checkLicenses(r.pluginBinary(p), r.pluginLicenses(p)); err != nil {
			return err
		}
		if err := r.packPlugin(p); err != nil {
			return err
		}
	}
	return nil
}

// thirdParty is the file with the licence texts of what a program links.
const thirdParty = "THIRD-PARTY"

func (r *release) pluginLicenses(p platform) string {
	return filepath.Join(filepath.Dir(r.pluginBinary(p)), thirdParty)
}

// checkLicenses returns an error if a module that a built program links is not named in the file of texts.
func checkLicenses(program, file string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	texts, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var problems []error
	for _, m := range info.Deps {
		if !bytes.Contains(texts, []byte("\n"+m.Path+" "+m.Version+"\n")) {
			problems = append(problems, fmt.Errorf("%s links %s %s, whose licence is not in %s", program, m.Path, m.Version, file))
		}
	}
	return errors.Join(problems...)
}

func (r *release) packPlugin(p platform) error {
	files := []file{{name: p.binary("kubectl-cephtune"), mode: 0o755}, {name: "LICENSE", mode: 0o644}, {name: thirdParty, mode: 0o644}}
	for i, path := range []string{r.pluginBinary(p), filepath.Join(r.root, "LICENSE"), r.pluginLicenses(p)} {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files[i].data = data
	}
	pack := compressedTar
	if p.os == "windows" {
		pack = zipped
	}
	data, err := pack(files, r.created)
	if err != nil {
		return err
	}
	return r.write(r.archiveName(p), data)
}

// readCommit reads the commit's time and hash, which become part of images and archives.
func (r *release) readCommit() error {
	out, err := r.command(nil, "git", "log", "-1", "--format=%ct %H")
	if err != nil {
		return err
	}
	seconds, revision, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	epoch, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("read the time of the commit: %w", err)
	}
	r.created, r.revision = time.Unix(epoch, 0).UTC(), revision
	return nil
}

// command runs a program in the checkout and returns its standard output. It overrides the caller's GOFLAGS
// and GOWORK, because they could change the release.
func (r *release) command(environment []string, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = r.root
	cmd.Env = append(append(os.Environ(), "GOFLAGS=", "GOWORK=off"), environment...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}

func (r *release) write(name string, data []byte) error {
	path := filepath.Join(r.out, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
