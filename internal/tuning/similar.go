package tuning

import (
	"github.com/cephtune/cephtune/internal/settings"
)

// maxTypos is the maximum distance in bytes at which two names count as similar.
const maxTypos = 2

// similar returns the name in the list `options` that is most similar to the given name, but not equal to it;
// "" if no name is similar.
func similar(name string, options []settings.Option) string {
	best, least := "", maxTypos+1
	for _, o := range options {
		if typos := distance(name, o.Name); typos > 0 && typos < least {
			best, least = o.Name, typos
		}
	}
	return best
}

// distance returns the Levenshtein distance: the smallest number of bytes to insert, remove or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
