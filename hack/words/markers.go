package main

import (
	"regexp"
	"strings"
)

// markers matches the phrases that this program counts, also across line breaks. The last alternative
// matches the word "What" at the beginning of a sentence, and after a colon or a semicolon.
var markers = regexp.MustCompile(`(?i)\b(?:` + strings.Join([]string{
	`nobody`, `somebody`, `whoever`, `whom`, `beside`,
	`(?:is|are|has)\s+none`, `of\s+which`, `of\s+what`,
	`tells?`, `told`,
	`put(?:s|ting)?\b[^.;:]{0,40}?\bback`, `lets?\b[^.;:]{0,40}?\b(?:up|back)`,
	`gets?\s+on`, `got\s+on`, `any\s+more`, `(?:is|are)\s+there`, `looks\s+that`,
}, "|") + `)\b` + `|(?:^|[.:;?!]\s+)(?-i:What)\b`)

// find returns the offsets of the start and the end of each marker.
func find(text string) [][]int { return markers.FindAllStringIndex(text, -1) }

func plain(marker string) string {
	return strings.Join(strings.Fields(strings.TrimLeft(marker, ".:;?! \n")), " ")
}
