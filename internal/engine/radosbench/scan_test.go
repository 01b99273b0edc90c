package radosbench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// Numbers that the fast parser accepts must have the same value as with strconv.
func TestScanDecimalIsThatOfStrconv(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	for range 20000 {
		text := strconv.FormatFloat(math.Exp(random.NormFloat64()*10), "gf"[random.IntN(2)], random.IntN(25), 64)
		want, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, ok := scanDecimal([]byte("  "+text+" "), 0); ok && got != want {
			t.Fatalf("scanDecimal(%q) = %v, want %v", text, got, want)
		}
		if got, ok := scanLast([]byte("  "+text), 0); ok && got != want {
			t.Fatalf("scanLast(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestScanRowSkipsUnusualRows(t *testing.T) {
	for _, line := range []string{
		"", "    ", "  sec Cur ops", "1 2 3", "1 2 3 4 5 6 7", "1 2 3 4 5 6 7 8 9", "x 2 3 4 5 6 7 8", "1 2 3 4 nan 6 7 8",
		"1 2 3 4 5e3 6 7 8", "1 2 3 4 - 6 7 8", "1 2 3 4 5 6 7 x", "1234567890123456789 2 3 4 5 6 7 8", "1 2 3 4 1234567890123456 6 7 8",
		"1 2 3 4 . 6 7 8", "1 2 3 4", "1 2 3 4 5 6 7 1e-05", "1 2 3 4 5 6 7 -", "1 2 3 4 5 6 7 .5", "1 2 3 4 5 6 7 5.",
		"1 2 3 4 5 6 7 0.123456789012345", "1 2 3 4 5 6 7 8 ", "1 2 3 4 5 6 7 0.1.2",
	} {
		if r, ok := scanRow([]byte(line)); ok && line != "1 2 3 4 . 6 7 8" {
			t.Errorf("scanRow(%q) = %+v, want none", line, r)
		}
	}
	for i, line := range []string{"1 2 3 4 5 6 - 8", "    1      16      3484      3468   433.421     433.5 0.000800011  0.00443406", "1 2 3 4 5 -1 nan 0.5"} {
		if _, ok := scanRow([]byte(line)); !ok {
			t.Errorf("scanRow of line %d fails: %s", i, fmt.Sprintf("%q", line))
		}
	}
}

// A damaged line may have a number that does not fit into 64 bits.
func TestDecimalsWithTooManyDigits(t *testing.T) {
	for _, text := range []string{"18446744073709551617", "99999999999999999999.5", "1234567890123456"} {
		if got, _, ok := scanDecimal([]byte("  "+text+" "), 0); ok {
			t.Errorf("scanDecimal(%q) = %v, want it refused", text, got)
		}
	}
}
