// Package docs has nothing but tests: of what the documentation says, as far as a program
// can tell. Links lead somewhere, commands exist, and the words that the code can say are
// on the pages that explain them, and no others.
package docs
