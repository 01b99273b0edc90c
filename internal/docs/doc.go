// Package docs has only tests of the documentation. For example, they check that links work, that commands
// exist, and that pages explain exactly those reasons, verdicts and marks that the code has.
package docs
