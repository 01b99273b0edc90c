// Command sidecar writes the dashboards of ConfigMaps into a folder, as Grafana's sidecar in
// kube-prometheus-stack does. It reads ConfigMaps with the sidecar's label, and writes into the subfolder
// that their annotation names.
//
//	kustomize build dashboards | sidecar FOLDER
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// The chart of kube-prometheus-stack uses this label by default, and its documentation suggests this
// annotation.
const (
	dashboardLabel   = "grafana_dashboard"
	folderAnnotation = "grafana_folder"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sidecar FOLDER <MANIFESTS")
		os.Exit(2)
	}
	if err := run(os.Stdin, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "sidecar:", err)
		os.Exit(1)
	}
}

// run writes the dashboards. It fails if it finds no dashboard, because a misspelt label would otherwise go
// unnoticed.
func run(manifests io.Reader, folder string) error {
	root, err := os.OpenRoot(folder) // Files stay inside the folder, whatever an annotation says.
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	documents := utilyaml.NewYAMLReader(bufio.NewReader(manifests))
	written := 0
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("reading manifests: %w", err)
		}
		var config corev1.ConfigMap
		if err := yaml.Unmarshal(document, &config); err != nil {
			return fmt.Errorf("reading a manifest: %w", err)
		}
		if config.Kind != "ConfigMap" || config.Labels[dashboardLabel] == "" {
			continue
		}
		if err := write(config, root); err != nil {
			return err
		}
		written += len(config.Data)
	}
	if written == 0 {
		return fmt.Errorf("no ConfigMap has the label %s", dashboardLabel)
	}
	return nil
}

func write(config corev1.ConfigMap, root *os.Root) error {
	folder := filepath.Join(".", config.Annotations[folderAnnotation])
	if err := root.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	for name, text := range config.Data {
		if err := root.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
