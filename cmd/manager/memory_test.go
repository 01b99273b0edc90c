package main

import (
	"testing"

	chart "github.com/cephtune/cephtune/internal/testing/memory"
)

func TestMemoryLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		env  map[string]string
		want int64
	}{
		"that of the container":    {map[string]string{"MEMORY_LIMIT": "268435400"}, 241591860},
		"outside of a container":   {nil, 0},
		"one that Go has read":     {map[string]string{"MEMORY_LIMIT": "268435400", "GOMEMLIMIT": "100MiB"}, 0},
		"one that is not of bytes": {map[string]string{"MEMORY_LIMIT": "256Mi"}, 0},
	} {
		if got := memoryLimit(func(name string) string { return tc.env[name] }); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

func TestClientsMemory(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"that of the chart": {"MEMORY_LIMIT": "268435456"}, "outside of a container": nil,
	} {
		if got := clientsMemory(func(name string) string { return env[name] }) >> 20; got != chart.ForClients>>20 {
			t.Errorf("%s: %d MiB, and tests give clients %d", name, got, chart.ForClients>>20)
		}
	}
}
