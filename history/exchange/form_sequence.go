package exchange

import "io"

// forms returns the maps of a file, which are in sequence or in one list.
type forms struct {
	in     *input
	tree   *tree
	syntax syntax
	// commas means that commas separate the maps of a list.
	commas bool

	begun   bool
	closing byte // of the list that holds all, or 0
	count   int64
}

func (f *forms) next() (place, error) {
	if err := f.syntax.blank(0); err != nil {
		return place{}, err
	}
	c, ok := f.in.peek()
	if !f.begun {
		f.begun = true
		if ok && (c == '[' || c == '(' && !f.commas) {
			f.in.skip()
			f.closing = ']'
			if c == '(' {
				f.closing = ')'
			}
			return f.next()
		}
	}
	if f.closing != 0 {
		more, err := f.inList(c, ok)
		if err != nil || !more {
			return place{}, err
		}
	} else if !ok {
		return place{}, io.EOF
	}
	if err := f.syntax.blank(0); err != nil {
		return place{}, err
	}
	at := f.in.place()
	f.count++
	return at, f.syntax.value(0)
}

// inList skips the comma before the next element; io.EOF if the list and the file end.
func (f *forms) inList(c byte, ok bool) (more bool, err error) {
	switch {
	case !ok:
		return false, f.in.tooShort("the list of operations")
	case c == f.closing:
		f.in.skip()
		if err := f.syntax.blank(0); err != nil {
			return false, err
		}
		if c, ok := f.in.peek(); ok && c == 0 {
			return false, f.in.unexpected(c, "nothing more")
		} else if ok {
			return false, f.in.bad("something follows the list of operations")
		}
		return false, io.EOF
	case f.commas && f.count > 0 && c != ',':
		return false, f.in.unexpected(c, "a comma or the end of the list")
	case f.commas && f.count > 0:
		f.in.skip()
	}
	return true, nil
}
