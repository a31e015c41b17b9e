package exchange

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"assay/internal/expect"
)

const smallHistory = `{:process 0, :type :invoke, :f :write, :value 1}
{:process 0, :type :ok, :f :write, :value 1}
`

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := io.WriteString(w, text)
	expect.NoError(t, errors.Join(err, w.Close()))
	return out.String()
}

func zstandard(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
	expect.NoError(t, err)
	_, err = io.WriteString(w, text)
	expect.NoError(t, errors.Join(err, w.Close()))
	return out.String()
}

func TestCompressedHistories(t *testing.T) {
	for name, compress := range map[string]func(*testing.T, string) string{"gzip": gzipped, "zstd": zstandard} {
		packed := compress(t, smallHistory)
		for what, text := range map[string]string{
			"one": packed, "marked": compress(t, textMark+smallHistory), "in two parts": compress(t, smallHistory[:60]) + compress(t, smallHistory[60:]),
		} {
			if ops, _ := readAll(t, text); len(ops) != 1 || say(&ops[0]) != "0 write 1 committed" {
				t.Errorf("%s, %s: got %v", name, what, says(ops))
			}
		}
		damaged := []byte(packed)
		damaged[len(damaged)-3] ^= 0x55 // of the checksum
		for what, text := range map[string]string{"cut": packed[:len(packed)-6], "damaged": string(damaged), "cut in its head": packed[:5]} {
			_, _, err := tryRead(strings.NewReader(text))
			var bad *FormatError
			if !errors.As(err, &bad) || !strings.Contains(bad.Reason, "cut short or damaged") {
				t.Errorf("%s, %s: got %v", name, what, err)
			}
		}
		_, _, err := tryRead(strings.NewReader(compress(t, packed)))
		if err == nil || !strings.Contains(err.Error(), "compressed twice") {
			t.Errorf("%s twice: %v", name, err)
		}
		broken := errors.New("the disk is gone")
		for _, cut := range []int{1, 12, len(packed) - 1} {
			var bad *FormatError
			_, _, err := tryRead(io.MultiReader(strings.NewReader(packed[:cut]), failing{broken}))
			if !errors.Is(err, broken) || errors.As(err, &bad) {
				t.Errorf("%s, an error of the disk after %d bytes: %v", name, cut, err)
			}
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// A small file that unpacks to a large one is read as a stream, and none of its operations may be
// larger than in a plain file.
func TestABombIsBounded(t *testing.T) {
	var blank bytes.Buffer
	w, err := zstd.NewWriter(&blank, zstd.WithEncoderConcurrency(1))
	expect.NoError(t, err)
	line := bytes.Repeat([]byte(" "), 1<<20)
	for range 20 {
		if _, err := w.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	expect.NoError(t, w.Close())
	if ops, _, err := tryRead(&blank); err != nil || len(ops) != 0 {
		t.Errorf("%d operations, %v", len(ops), err)
	}
	// A frame with a window of 3.75 TB.
	huge := zstdMagic + "\x00\xff\x01\x00\x00"
	if _, _, err := tryRead(strings.NewReader(huge)); err == nil || !strings.Contains(err.Error(), "window") {
		t.Errorf("a huge window: %v", err)
	}
}

func TestOtherFilesAreNamed(t *testing.T) {
	wide := func(text string, low, high int) string {
		var out []byte
		for _, c := range []byte(text) {
			pair := [2]byte{}
			pair[low], pair[high] = c, 0
			out = append(out, pair[:]...)
		}
		return string(out)
	}
	for _, c := range []struct{ text, reason string }{
		{"\xff\xfe" + wide(smallHistory, 0, 1), "iconv -f UTF-16 -t UTF-8"},
		{"\xfe\xff" + wide(smallHistory, 1, 0), "iconv -f UTF-16 -t UTF-8"},
		{wide(smallHistory, 0, 1), "iconv -f UTF-16LE -t UTF-8"},
		{wide(smallHistory, 1, 0), "iconv -f UTF-16BE -t UTF-8"},
		{"\xff\xfe\x00\x00{\x00\x00\x00", "UTF-32"},
		{gzipped(t, "\xff\xfe"+wide(smallHistory, 0, 1)), "UTF-16"},
		{"\xfd7zXZ\x00\x00", "xz"},
		{"BZh91AY&SY", "bzip2"},
		{"PK\x03\x04\x14\x00", "zip"},
	} {
		_, _, err := tryRead(strings.NewReader(c.text))
		var bad *FormatError
		if !errors.As(err, &bad) || !strings.Contains(bad.Reason, c.reason) {
			t.Errorf("%.12q: got %v; want ...%s...", c.text, err, c.reason)
		}
	}
}
