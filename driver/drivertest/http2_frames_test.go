package drivertest

import "testing"

// TestFrames finds an answer wherever the stream is split.
func TestFrames(t *testing.T) {
	settings := []byte{0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1} // a payload of headers' and data's own numbers
	window := []byte{0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 1, 0}
	headers := []byte{0, 0, 1, 1, 4, 0, 0, 0, 1, 136}
	data := []byte{0, 0, 2, 0, 1, 0, 0, 0, 1, 7, 7}
	for name, answer := range map[string][]byte{"headers": headers, "data": data} {
		for size := 1; size < 20; size++ {
			var f frames
			feed := func(text []byte) (found bool) {
				for len(text) > 0 {
					n := min(size, len(text))
					found, text = f.answers(text[:n]) || found, text[n:]
				}
				return found
			}
			if feed(settings) || feed(window) || !feed(answer) || feed(window) {
				t.Errorf("%s by %d bytes", name, size)
			}
		}
	}
}
