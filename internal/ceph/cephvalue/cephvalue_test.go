package cephvalue

import "testing"

// These are forms that Ceph 18.2.7 accepted or refused, and the values that it stored.
func TestCanonical(t *testing.T) {
	tests := []struct{ valueType, text, want string }{ // want "" means an error
		{Size, "4M", "4194304"},
		{Size, "4Mi", "4194304"},
		{Size, "4MB", "4194304"},
		{Size, "4MiB", ""},
		{Size, "4m", ""},
		{Size, "1B", "1"},
		{Size, "4096", "4096"},
		{Size, "-1", ""},
		{Size, "1.5G", ""},
		{Size, "9999999999P", ""},
		{Uint, "4K", "4000"},
		{Uint, "007", "7"},
		{Uint, "-1", ""},
		{Uint, "4Ki", ""},
		{Uint, "4B", ""},
		{Uint, " 5", ""},
		{Uint, "5x", ""},
		{Int, "-7", "-7"},
		{Int, "007", "7"},
		{Int, "1E1", ""},
		{Int, "9999999999999999999", ""},
		{Float, "0.95", "0.950000"},
		{Float, ".5", "0.500000"},
		{Float, "1e-3", "0.001000"},
		{Float, "0.0000001", "0.000000"},
		{Float, "-1", "-1.000000"},
		{Float, "1.5x", ""},
		{Float, "nan", ""}, // Ceph accepts it, but no value equals it.
		{Float, "inf", ""},
		{Bool, "TRUE", "true"},
		{Bool, "1", "true"},
		{Bool, "False", "false"},
		{Bool, "0", "false"},
		{Bool, "yes", ""},
		{Bool, "off", ""},
		{Bool, "2", ""}, // Ceph stores true.
		{Bool, "", ""},
		{String, "anything", "anything"},
		{Seconds, "90", "90"},
		{Seconds, "007", "7"},
		{Seconds, "0", "0"},
		{Seconds, "90s", "90"},
		{Seconds, "60sec", "60"},
		{Seconds, "90 seconds", "90"},
		{Seconds, "5m", "300"},
		{Seconds, "5 min", "300"},
		{Seconds, "1mins", ""},
		{Seconds, "1h", "3600"},
		{Seconds, "1 h", "3600"},
		{Seconds, "2 hours", "7200"},
		{Seconds, "1h30m", "5400"},
		{Seconds, "1h 30m", "5400"},
		{Seconds, "1h30", "3630"},
		{Seconds, "1d", "86400"},
		{Seconds, "1w", "604800"},
		{Seconds, "1mo", "2592000"},
		{Seconds, "1y", "31536000"},
		{Seconds, "3600000000000", "3600000000000"},
		{Seconds, "9999999999999999999", ""},
		{Seconds, "9223372036854775807y", ""},
		{Seconds, "1M", ""},
		{Seconds, "1H", ""},
		{Seconds, "100ms", ""},
		{Seconds, "1.5", ""},
		{Seconds, "-5", ""},
		{Seconds, "abc", ""},
		{Seconds, "", ""}, // Ceph stores 0.
		{Milliseconds, "5000", "5000"},
		{Milliseconds, "07000", "7000"},
		{Milliseconds, "5000ms", ""}, // Ceph reads the digits and stops.
		{Milliseconds, "5s", ""},
		{Milliseconds, "5.5", ""},
		{Milliseconds, "-1", ""},
		{"addr", "10.0.0.1:0/0", ""},
		{"uuid", "8b1c1f3e-0000-0000-0000-000000000000", ""},
		{"", "1", ""},
	}
	for _, test := range tests {
		got, err := Canonical(test.valueType, test.text)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s %q: %q, %v, want %q", test.valueType, test.text, got, err, test.want)
		}
	}
}

func TestNumber(t *testing.T) {
	tests := []struct {
		valueType, text string
		want            float64
		number          bool
	}{
		{Size, "4Gi", 4 << 30, true},
		{Uint, "4Ki", 4096, true},
		{Uint, "4K", 4000, true},
		{Float, "0.5", 0.5, true},
		{Seconds, "1h", 3600, true},
		{Milliseconds, "2000", 2000, true},
		{Milliseconds, "2s", 0, false},
		{String, "5", 0, false},
		{Bool, "1", 0, false},
		{"addr", "5", 0, false},
	}
	for _, test := range tests {
		if got, ok := Number(test.valueType, test.text); got != test.want || ok != test.number {
			t.Errorf("%s %q: %v, %v, want %v, %v", test.valueType, test.text, got, ok, test.want, test.number)
		}
	}
}

func FuzzCanonicalIsStable(f *testing.F) {
	for _, text := range []string{"1h30m", "4Gi", "0.5", "true", "5000", "-7"} {
		f.Add(Seconds, text)
		f.Add(Size, text)
		f.Add(Float, text)
	}
	f.Fuzz(func(t *testing.T, valueType, text string) {
		once, err := Canonical(valueType, text)
		if err != nil {
			return
		}
		if twice, err := Canonical(valueType, once); err != nil || twice != once {
			t.Errorf("%s %q is stored as %q, and that as %q (%v)", valueType, text, once, twice, err)
		}
	})
}
