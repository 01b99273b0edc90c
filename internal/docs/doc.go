// Package docs has only tests of the documentation. For example, they check that links lead
// somewhere, that commands exist, and that pages explain exactly the reasons, verdicts and marks
// that the code has.
package docs
