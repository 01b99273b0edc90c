// Package history holds what a benchmark measured night by night, and says since which night it is slower or faster. The
// operator and the kubectl plugin judge nights by the same function, [Judge].
//
// A history is JSON lines, one night in each. It is compressed in the ConfigMap that the operator keeps beyond
// spec.historyLimit, see [ConfigMap]; the plugin's files have the plain lines.
package history
