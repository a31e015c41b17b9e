package mysql

import (
	"strings"

	"assay/application/wire"
)

// values are the parameters as text, behind those that are known. Their count comes first where the client
// can name them, and then what comes behind those of the statement is of the query (MySQL 8.4 source
// documentation, "COM_STMT_EXECUTE").
func (p *prepared) values(known []string, b []byte, named bool) []string {
	all := wire.ValuesAfter(known)
	count := p.parameters
	if named {
		n, size := number(b)
		count, b = int(min(n, uint64(len(b)))), b[size:]
	}
	nulls := (count + 7) / 8
	if len(b) <= nulls {
		return all.All()
	}
	null, rest := b[:nulls], b[nulls+1:]
	if b[nulls] == 1 {
		p.types, rest = types(rest, count, named)
	}
	for i := 0; i < min(p.parameters, count, len(p.types)); i++ {
		sent := p.long[uint16(i)]
		switch {
		case all.Full():
			all.More(string(null) + string(rest))
			return all.All()
		case sent != nil:
			all.Add(sent.String())
		case null[i/8]>>(i%8)&1 == 1:
			all.Add(wire.Null)
		default:
			v, n := value(rest, p.types[i])
			rest = rest[n:]
			all.Add(v)
		}
	}
	return all.All()
}

// types are those of parameters, without the names.
func types(b []byte, count int, named bool) (all []kind, rest []byte) {
	for range count {
		if len(b) < 2 {
			return all, nil
		}
		all, b = append(all, kind{b[0], b[1]&parameterUnsigned != 0}), b[2:]
		if named {
			length, n := number(b)
			b = b[n+int(min(length, uint64(len(b)-n))):]
		}
	}
	return all, b
}

// behindAttributes is the text of a query that has some before it (MySQL 8.4 source documentation,
// "COM_QUERY").
func behindAttributes(b []byte) string {
	n, size := number(b)
	b = b[size:]
	_, size = number(b) // how many sets there are, which is one
	b = b[size:]
	count := int(min(n, uint64(len(b))))
	if count == 0 {
		return string(b)
	}
	nulls := (count + 7) / 8
	if len(b) <= nulls {
		return ""
	}
	null, rest := b[:nulls], b[nulls+1:]
	kinds, rest := types(rest, count, true)
	for i, of := range kinds {
		if null[i/8]>>(i%8)&1 == 0 {
			_, n := value(rest, of)
			rest = rest[n:]
		}
	}
	return string(rest)
}

// placeholders counts the parameters of a text before the server has.
func placeholders(text string) (n int) {
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch c := text[i]; {
		case c == '?':
			n++
		case c == '\'' || c == '"' || c == '`':
			i += quoted(rest) - 1
		case c == '#' || strings.HasPrefix(rest, "-- "):
			i += upTo(rest, "\n")
		case strings.HasPrefix(rest, "/*"):
			i += upTo(rest, "*/")
		}
	}
	return n
}

// upTo is where an end begins.
func upTo(text, end string) int {
	if i := strings.Index(text, end); i >= 0 {
		return i
	}
	return len(text)
}
