// Package docs has only tests. They check what a program can check of the documentation:
// links lead somewhere, commands exist, and pages explain exactly the words that the code
// can say.
package docs
