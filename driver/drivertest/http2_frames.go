package drivertest

// frames follows the bytes that an HTTP/2 server sends, to tell answers from window updates and
// pings (RFC 9113, section 4.1). The zero value is at the connection's beginning.
type frames struct {
	// header is the received part of a frame header, left the missing bytes of a payload.
	header []byte
	left   int
}

// answers reports whether the chunk begins a frame of an answer, HEADERS or DATA.
func (f *frames) answers(chunk []byte) (found bool) {
	const length, data, headers = 9, 0, 1
	for len(chunk) > 0 {
		if f.left > 0 {
			n := min(f.left, len(chunk))
			f.left, chunk = f.left-n, chunk[n:]
			continue
		}
		n := min(length-len(f.header), len(chunk))
		f.header, chunk = append(f.header, chunk[:n]...), chunk[n:]
		if h := f.header; len(h) == length {
			f.left = int(h[0])<<16 | int(h[1])<<8 | int(h[2])
			found = found || h[3] == data || h[3] == headers
			f.header = h[:0]
		}
	}
	return found
}
