package radosbench

// scanRow reads a row in one pass, without looking for what is wrong with it: most
// of an output is rows, and nearly all of them are in order. What it does not take,
// [textParser.row] does, or explains.
func scanRow(line []byte) (r row, ok bool) {
	var numbers [4]int64
	at := 0
	for i := range numbers {
		if numbers[i], at, ok = scanInt(line, at); !ok {
			return row{}, false
		}
	}
	r.second, r.finished = numbers[0], numbers[3]
	if r.averageMiBPerSecond, at, ok = scanDecimal(line, at); !ok {
		return row{}, false
	}
	return r, countFields(line[at:]) == 3
}

// scanInt reads a whole number of up to 18 digits, with spaces before it and one
// behind it.
func scanInt(line []byte, at int) (n int64, behind int, ok bool) {
	for at < len(line) && line[at] == ' ' {
		at++
	}
	start := at
	for at < len(line) {
		digit := line[at] - '0'
		if digit > 9 {
			break
		}
		n = n*10 + int64(digit)
		at++
	}
	return n, at, at > start && at-start <= 18 && at < len(line) && line[at] == ' '
}

// scanDecimal reads a number of up to 15 digits, with or without a point, with
// spaces before it and one behind it. Its value is the correctly rounded one, since
// digits and power of ten are exact.
func scanDecimal(line []byte, at int) (f float64, behind int, ok bool) {
	whole, at, _ := scanInt(line, at)
	digits, scale := whole, 1.0
	if at < len(line) && line[at] == '.' {
		for at++; at < len(line) && line[at]-'0' <= 9 && digits < 1e15; at++ {
			digits = digits*10 + int64(line[at]-'0')
			scale *= 10
		}
	}
	ok = at < len(line) && line[at] == ' ' && line[at-1] != ' ' && digits < 1e15 && scale <= 1e15
	return float64(digits) / scale, at, ok
}

// countFields counts fields that look like numbers; -1 if one does not.
func countFields(line []byte) int {
	fields := 0
	for at := 0; ; fields++ {
		for at < len(line) && line[at] == ' ' {
			at++
		}
		if at == len(line) {
			return fields
		}
		for at < len(line) && line[at] != ' ' {
			if !isNumberish(line[at]) {
				return -1
			}
			at++
		}
	}
}

// isNumberish reports whether a character is one of the numbers that C++ prints, nan
// and inf among them, or of the dash of a stalled second.
func isNumberish(c byte) bool {
	return c-'0' <= 9 || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'n' || c == 'a' || c == 'i' || c == 'f'
}
