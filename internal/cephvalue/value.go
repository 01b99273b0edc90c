package cephvalue

// Value is the value of an option, or unset. The zero Value is unset: Ceph's own default applies.
// Setting an option to the current default is something else.
//
// A parameter's value has this type from the planner to the check in the sidecar. Journals store
// Values, and later versions of the operator read them.
type Value struct {
	Set  bool   `json:"set"`
	Text string `json:"text,omitempty"`
}

// Of returns a Value that is set.
func Of(text string) Value { return Value{Set: true, Text: text} }

// Unset returns the Value of an option that is not set.
func Unset() Value { return Value{} }

// String returns the text, or "unset".
func (v Value) String() string {
	if !v.Set {
		return "unset"
	}
	return v.Text
}
