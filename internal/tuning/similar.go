package tuning

// maxTypos is the maximum distance in bytes at which two names count as similar.
const maxTypos = 2

// Similar returns the one of names that is most similar to the given name, but not equal to it; "" if none is similar. A
// short name allows fewer typos.
func Similar(name string, names []string) string {
	best, least := "", min(maxTypos, len(name)/3)+1
	for _, other := range names {
		if typos := distance(name, other); typos > 0 && typos < least {
			best, least = other, typos
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
