// Command schema prints the chart's values.schema.json: the schema beside it, with descriptions from the comments in
// values.yaml, which helm-docs reads too. Run it in hack/chart.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func main() {
	if err := run("schema/values.schema.json", "../../charts/cephtune/values.yaml"); err != nil {
		fmt.Fprintln(os.Stderr, "schema:", err)
		os.Exit(1)
	}
}

func run(schemaFile, valuesFile string) error {
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		return err
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		return fmt.Errorf("%s: %w", schemaFile, err)
	}
	values, err := yaml.ReadFile(valuesFile)
	if err != nil {
		return err
	}
	if err := describe(schema, values.YNode(), ""); err != nil {
		return err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(schema); err != nil {
		return err
	}
	_, err = out.WriteTo(os.Stdout)
	return err
}

// describe adds the comment of each value to its property. Properties that a definition has are below "$ref", where
// comments of one use would be wrong for another: definitions have their own descriptions.
func describe(schema map[string]any, values *yaml.Node, path string) error {
	properties, isMap := schema["properties"].(map[string]any)
	if !isMap || values.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(values.Content); i += 2 {
		key, value := values.Content[i], values.Content[i+1]
		property, known := properties[key.Value].(map[string]any)
		if !known {
			return fmt.Errorf("the schema has no %s%s", path, key.Value)
		}
		comment := commentOf(key.HeadComment)
		if comment == "" {
			return fmt.Errorf("%s%s has no comment in values.yaml", path, key.Value)
		}
		property["description"] = comment
		if err := describe(property, value, path+key.Value+"."); err != nil {
			return err
		}
	}
	return nil
}

// commentOf returns the last paragraph of a comment, without the marks of helm-docs. A map has a comment without
// marks, because helm-docs would print its values twice.
func commentOf(head string) string {
	paragraphs := strings.Split(head, "\n\n")
	var words []string
	for line := range strings.Lines(paragraphs[len(paragraphs)-1]) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "#"))
		if !strings.HasPrefix(line, "@default") {
			words = append(words, strings.Fields(strings.TrimPrefix(line, "-- "))...)
		}
	}
	return strings.Join(words, " ")
}
