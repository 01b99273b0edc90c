package radosbench

// scanRow reads a well-formed row in one pass, for speed: most lines are such rows. For all other lines it
// returns false, and [textParser.line] parses them.
func scanRow(line []byte) (r row, ok bool) {
	at := 0
	if r.second, at, ok = scanInt(line, at); !ok {
		return row{}, false
	}
	if r.inFlight, at, ok = scanInt(line, at); !ok {
		return row{}, false
	}
	if at, ok = skipInt(line, at); !ok {
		return row{}, false
	}
	if r.finished, at, ok = scanInt(line, at); !ok {
		return row{}, false
	}
	if r.averageMiBPerSecond, at, ok = scanDecimal(line, at); !ok {
		return row{}, false
	}
	if at, ok = skipFields(line, at); !ok {
		return row{}, false
	}
	r.averageLatency, ok = scanLast(line, at)
	return r, ok
}

// skipFields skips two fields that look like numbers, with spaces before each and one after them.
func skipFields(line []byte, at int) (behind int, ok bool) {
	for range 2 {
		at = skipSpaces(line, at)
		length := 0
		for _, c := range line[at:] {
			if !numberish[c] {
				break
			}
			length++
		}
		if at += length; length == 0 {
			return at, false
		}
	}
	return at, at < len(line) && line[at] == ' '
}

func skipSpaces(line []byte, at int) int {
	for i, c := range line[at:] {
		if c != ' ' {
			return at + i
		}
	}
	return len(line)
}

// scanLast is like scanDecimal, for the number at the end of the line.
func scanLast(line []byte, at int) (f float64, ok bool) {
	text := line[skipSpaces(line, at):]
	if len(text) == 0 || len(text) > 16 {
		return 0, false
	}
	whole, digits := 0, int64(0)
	for _, c := range text {
		digit := c - '0'
		if digit > 9 {
			break
		}
		digits = digits*10 + int64(digit)
		whole++
	}
	if whole == len(text) {
		return float64(digits), true
	}
	scale := 1.0
	for _, c := range text[whole+1:] {
		digit := c - '0'
		if digit > 9 {
			return 0, false
		}
		digits = digits*10 + int64(digit)
		scale *= 10
	}
	return float64(digits) / scale, text[whole] == '.' && whole > 0 && scale > 1
}

// scanInt reads a whole number of up to 18 digits, with spaces before it and one after it. It also returns the
// index of the character after the digits, which is a space if ok is true.
func scanInt(line []byte, at int) (n int64, behind int, ok bool) {
	start := at
	for i, c := range line[at:] {
		if c != ' ' {
			start += i
			break
		}
	}
	for i, c := range line[start:] {
		digit := c - '0'
		if digit > 9 {
			return n, start + i, c == ' ' && i > 0 && i <= 18
		}
		n = n*10 + int64(digit)
	}
	return n, len(line), false
}

// skipInt is like scanInt, but does not compute the number.
func skipInt(line []byte, at int) (behind int, ok bool) {
	at = skipSpaces(line, at)
	for i, c := range line[at:] {
		if c-'0' > 9 {
			return at + i, c == ' ' && i > 0 && i <= 18
		}
	}
	return len(line), false
}

// scanDecimal reads a number of up to 15 digits, with or without a point. Spaces precede the number, and
// one follows it. The value is correctly rounded, because its digits and the power of ten are exact.
func scanDecimal(line []byte, at int) (f float64, behind int, ok bool) {
	start := skipSpaces(line, at)
	whole, at, _ := scanInt(line, at)
	digits, scale := whole, 1.0
	if at-start > 18 { // The whole part overflows.
		return 0, at, false
	}
	if at < len(line) && line[at] == '.' {
		for at++; at < len(line) && line[at]-'0' <= 9 && digits < 1e15; at++ {
			digits = digits*10 + int64(line[at]-'0')
			scale *= 10
		}
	}
	ok = at < len(line) && line[at] == ' ' && line[at-1] != ' ' && digits < 1e15 && scale <= 1e15
	return float64(digits) / scale, at, ok
}

// countFields returns the number of fields, or -1 if a field does not look like a number.
func countFields(line []byte) int {
	fields, before := 0, byte(' ')
	for _, c := range line {
		if c != ' ' {
			if !numberish[c] {
				return -1
			}
			if before == ' ' {
				fields++
			}
		}
		before = c
	}
	return fields
}

// numberish marks the characters of a field that looks like a number: those of C++'s numbers, nan and inf,
// and the dash of a stalled second.
var numberish = func() (are [256]bool) { //nolint:gochecknoglobals // A table of constants.
	for _, c := range []byte("0123456789.-+enaif") {
		are[c] = true
	}
	return are
}()
