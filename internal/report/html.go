package report

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"

	"github.com/cephtune/cephtune/internal/report/medium"
)

//go:embed page.html.tmpl
var pageTemplate string

//go:embed style.css
var styleSheet string

// HTML returns the report as one self-contained page, without scripts or external files. The page follows the
// browser's light or dark mode, and can be printed.
func (d *Document) HTML() ([]byte, error) {
	figures, err := d.CSV()
	if err != nil {
		return nil, err
	}
	page, err := template.New("page").Funcs(template.FuncMap{
		"line": medium.Line, "lines": medium.Lines, // The template escapes their results.
		"svg": func(picture string) template.HTML {
			return template.HTML(picture) //nolint:gosec // This program draws the SVG; canvas escapes every text in it.
		},
	}).Parse(pageTemplate)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	var out bytes.Buffer
	err = page.Execute(&out, struct {
		*Document
		Style   template.CSS
		Figures template.URL
	}{
		d, template.CSS(styleSheet), //nolint:gosec // The style sheet is embedded in this program.
		template.URL("data:text/csv;base64," + base64.StdEncoding.EncodeToString(figures)), //nolint:gosec // Base64 has nothing to escape.
	})
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return out.Bytes(), nil
}
