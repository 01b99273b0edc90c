// Package manual has the pages of the documentation that commands refer to.
package manual

const docs = "https://github.com/cephtune/cephtune/blob/main/docs/"

// These are the addresses of the pages.
const (
	// Verdicts says what the words of a verdict mean.
	Verdicts = docs + "reading-a-verdict.md"
	// ByHand says how to restore settings of Ceph without the operator.
	ByHand = docs + "safety.md#by-hand"
)
