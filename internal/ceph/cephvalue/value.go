package cephvalue

// Value is the value of an option, or unset. The zero Value is unset: a broader section's value or Ceph's
// default applies. An option that is set to Ceph's default is not unset, because it keeps that value if a
// later Ceph has another default.
//
// The JSON form must not change, because journals have Values that later versions of the operator read.
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
