package doctor

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/internal/settings"
)

// defaultLine is the major version of Ceph in a tools image whose tag is only a release, such as 0.1.0.
// A test compares it with images/tools/build, which sets the tags.
const defaultLine = 20

// toolsImage compares a cluster's major version of Ceph with the one in the tag of its tools image. For
// a cluster with a separate tools image, it also checks the manager's tools image. The parameter version is
// the cluster's version of Ceph, such as 20.2.4-0. The parameter manager is the name of the manager's
// Deployment.
func (e *examination) toolsImage(allowed settings.Cluster, known *settings.Settings, version, manager string) {
	topic := fmt.Sprintf("Tools image of %s/%s", allowed.Namespace, allowed.Name)
	major, _, _ := strings.Cut(version, ".")
	cluster, err := strconv.Atoi(major)
	if err != nil {
		return // Rook has not reported the version yet.
	}
	image := known.ImagesFor(allowed).Tools
	switch line, named := lineOf(image); {
	case !named:
		check := fmt.Sprintf("kubectl -n %s exec deployment/%s -c ceph -- ceph --version", e.operator, manager)
		if allowed.ToolsImage != "" { // The manager runs another tools image.
			check = fmt.Sprintf("choose a tag that ends with -ceph%d, as images/tools/build sets it", cluster)
		}
		e.found(topic, Note, fmt.Sprintf("The tag of %s names no version of Ceph. The cluster has Ceph %d: check that the image has it, too.", image, cluster), check)
	case line < cluster:
		e.found(topic, Note, fmt.Sprintf("According to its tag, %s has Ceph %d, but the cluster has Ceph %d: older tools may not know its options and keys.", image, line, cluster), e.otherTools(cluster))
	case line > cluster:
		e.found(topic, Note, fmt.Sprintf("According to its tag, %s has Ceph %d, but the cluster has Ceph %d: newer clients may be faster or slower than those of your applications.", image,
			line, cluster), e.otherTools(cluster))
	default:
		e.found(topic, OK, fmt.Sprintf("According to its tag, %s has Ceph %d, like the cluster.", image, line), "")
	}
	if line, named := lineOf(known.Images.Tools); named && line < cluster && allowed.ToolsImage != "" {
		e.found("Tools image of the manager", Note, fmt.Sprintf("According to its tag, %s has Ceph %d. The manager uses it for CephCluster %s/%s, which has Ceph %d.",
			known.Images.Tools, line, allowed.Namespace, allowed.Name, cluster),
			e.fix("choose the newest version of your clusters in images.tools", fmt.Sprintf("build it with images/tools/build %d, and deploy it: %s", cluster, deploy)))
	}
}

// otherTools returns the action that gives the cluster a tools image with the given major version of Ceph.
func (e *examination) otherTools(line int) string {
	return e.fix(fmt.Sprintf("set toolsImage: {tag: RELEASE-ceph%d} for this cluster in clusters", line),
		fmt.Sprintf("build it with images/tools/build %d, name it in toolsImage of this cluster in config/manager/config.yaml, and apply it again: %s", line, deploy))
}

// lineOf returns the major version of Ceph that the tag of a tools image names. It is 18 for
// tools:0.1.0-ceph18, and for Ceph's own image ceph:v18.2.7. If the tag of cephtune's image is only a
// release, lineOf returns defaultLine. It returns false for other tags, and without a tag.
func lineOf(image string) (int, bool) {
	image, _, _ = strings.Cut(image, "@")
	repository, tag, tagged := strings.Cut(path.Base(image), ":")
	switch {
	case !tagged:
		return 0, false
	case repository == "tools" && regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(tag):
		return defaultLine, true
	}
	found := regexp.MustCompile(`-ceph(\d+)$`).FindStringSubmatch(tag)
	if found == nil && repository == "ceph" {
		found = regexp.MustCompile(`^v(\d+)(?:\.|$)`).FindStringSubmatch(tag)
	}
	if found == nil {
		return 0, false
	}
	line, err := strconv.Atoi(found[1])
	return line, err == nil
}
