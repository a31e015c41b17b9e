package definition

import "strings"

// Several is the pflag.SliceValue of a flag that is given several times.
type Several struct {
	// Kind is the help's word for a value.
	Kind string
	// Given has the values so far, in order. Add takes one more, and Clear forgets all.
	Given func() []string
	Add   func(text string) error
	Clear func()
}

func (s Several) Type() string             { return s.Kind }
func (s Several) GetSlice() []string       { return s.Given() }
func (s Several) Set(text string) error    { return s.Add(text) }
func (s Several) Append(text string) error { return s.Add(text) }

func (s Several) Replace(all []string) error {
	s.Clear()
	for _, text := range all {
		if err := s.Add(text); err != nil {
			return err
		}
	}
	return nil
}

func (s Several) String() string {
	if s.Given == nil {
		return ""
	}
	return strings.Join(s.Given(), ",")
}
