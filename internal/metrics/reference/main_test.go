package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestThePageIsUpToDate(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	var made bytes.Buffer
	if err := write(&made); err != nil || made.String() != string(page) {
		t.Errorf("docs/metrics.md is not what the table says: run \"make generate\" (%v)", err)
	}
}
