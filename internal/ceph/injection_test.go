package ceph

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// checks are the sidecar's checks of the texts that become parts of commands.
func checks() map[string]func(string) error {
	matches := func(form *regexp.Regexp) func(string) error {
		return func(text string) error { return named("something", text, form) }
	}
	return map[string]func(string) error{
		"a pool":                  matches(poolName),
		"a pool to be tuned":      tunablePool,
		"an image":                ownImage,
		"an object":               matches(objectName),
		"an object of ours":       func(text string) error { return errors.Join(matches(objectName)(text), ownObjects("", text)) },
		"a RADOS namespace":       func(text string) error { return ownObjects(text, "") },
		"a key of config-key":     matches(keyName),
		"an option":               matches(optionName),
		"an option to be changed": func(text string) error { return Fence{}.Tunable(Setting{Who: ConfigWho{Section: "osd"}, Option: text}) },
		"an option of a pool":     func(text string) error { return Fence{}.Tunable(Setting{Pool: "p", Option: text}) },
		"an option to restore": func(text string) error {
			return Fence{Restores: true}.Tunable(Setting{Who: ConfigWho{Section: "osd"}, Option: text})
		},
		"a value":     plainValue,
		"a section":   func(text string) error { return tunableWho(ConfigWho{Section: text}) },
		"a mask":      func(text string) error { return tunableWho(ConfigWho{Section: "osd", Mask: text}) },
		"an identity": func(text string) error { return Connection{MonHost: "m", User: text, Key: "k"}.valid() },
		"a key":       func(text string) error { return Connection{MonHost: "m", User: "u", Key: text}.valid() },
	}
}

func hostile() []string {
	return []string{
		"", "-", "--", "--keyring=/etc/passwd", "-i", "-1", "-1 ", "a\n", "a\nb", "a b", "a\x00", "a\x00b", "a=b", "a,b", "cephtune", "cephtune\n", "cephtune/../auth",
		"cephtune/a", "cephtune-1\n--all", "benchmark_data_cephtune", "osd", "osd\nglobal", "global", "class:ssd", "class:-x", "host:a\nb", "debug_osd", "size", "ä", "\xff",
		"a]\n[client.admin", "a\nkey = b", "AQ==\nkeyring = /x", strings.Repeat("a", 5000),
	}
}

// FuzzNothingButWords passes texts that would become parts of commands. The sidecar must refuse
// each text, or the text must be a single word that is no option and does not end a line of a file.
func FuzzNothingButWords(f *testing.F) {
	for _, text := range hostile() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for kind, check := range checks() {
			if check(text) != nil {
				continue
			}
			number := kind == "a value" && regexp.MustCompile(`^-[0-9]`).MatchString(text)
			empty := text == "" && kind != "a mask" // "" is none
			switch {
			case strings.HasPrefix(text, "-") && !number, empty:
				t.Errorf("%q is taken for %s", text, kind)
			case strings.ContainsFunc(text, func(r rune) bool {
				return unicode.IsSpace(r) || r < ' ' || r > '~' || strings.ContainsRune("'\"\\`$;&|<>*?()[]{}!", r)
			}):
				t.Errorf("%q is taken for %s", text, kind)
			}
		}
	})
}

// FuzzConnection writes the files of connections. The connection must be refused, or the files must
// have exactly the usual lines.
func FuzzConnection(f *testing.F) {
	for _, text := range append(hostile(), "[v2:10.0.0.1:3300,v1:10.0.0.1:6789]", "10.0.0.1, 10.0.0.2", "10.0.0.1\nauth_cluster_required = none") {
		f.Add(text, "cephtune-observer", "AQ==")
		f.Add("10.0.0.1", text, "AQ==")
		f.Add("10.0.0.1", "cephtune-observer", text)
	}
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, monHost, user, key string) {
		connection := Connection{MonHost: monHost, User: user, Key: key}
		if connection.valid() != nil {
			return
		}
		conf, keyring := filepath.Join(folder, "ceph.conf"), filepath.Join(folder, "keyring")
		if err := write(connection, conf, keyring); err != nil {
			t.Fatal(err)
		}
		for file, want := range map[string][]string{
			conf:    {"[global]", "mon_host = ", "keyring = " + keyring, "log_file =", "log_to_stderr = false", "err_to_stderr = false", "[client]", "admin_socket =", ""},
			keyring: {"[client." + user + "]", "key = ", ""},
		} {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(string(text), "\n")
			if len(lines) != len(want) {
				t.Fatalf("%+v: %d lines, want %d:\n%s", connection, len(lines), len(want), text)
			}
			for i, line := range lines {
				if !strings.HasPrefix(line, want[i]) {
					t.Errorf("%+v: line %q, want %q", connection, line, want[i])
				}
			}
		}
	})
}
