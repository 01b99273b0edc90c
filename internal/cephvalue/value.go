package cephvalue

// Value is the value of an option, or unset. The zero Value is unset: Ceph's own default applies.
// An option that is set to the current default is not unset: it keeps that value if a later Ceph
// has another default.
//
// All code uses this type for a parameter's value, from the planner to the check in the sidecar.
// Its JSON form must not change, because later versions of the operator read the Values in
// journals.
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
