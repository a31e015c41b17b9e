package exchange

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow bounds a decompressor's memory, in bytes. It is the window of zstd --long=27, the
// largest that zstd unpacks by default. All other memory is bounded by the operations in flight,
// even if a small file unpacks to a large one.
const maxWindow = 128 << 20

const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
	// textMark is the byte order mark in UTF-8.
	textMark = "\xef\xbb\xbf"
)

// otherFiles lists kinds of files that hold no history as they are, with advice.
func otherFiles() []struct{ magic, name, advice string } {
	const unpack = "decompress it first, or use gzip or zstd"
	return []struct{ magic, name, advice string }{
		{"\xfd7zXZ\x00", "compressed with xz", unpack},
		{"BZh", "compressed with bzip2", unpack},
		{"PK\x03\x04", "a zip archive", "unpack it, and judge the history in it"},
		{gzipMagic, "compressed twice", "decompress it once"},
		{zstdMagic, "compressed twice", "decompress it once"},
	}
}

// plainText returns the text of a history, unpacked if need be, without a byte order mark. It
// refuses an encoding other than UTF-8 and an unknown compression.
func plainText(in *input) (*input, error) {
	head := in.ahead(8)
	var unpack io.Reader
	var err error
	switch {
	case bytes.HasPrefix(head, []byte(gzipMagic)):
		unpack, err = gzip.NewReader(in)
	case bytes.HasPrefix(head, []byte(zstdMagic)):
		// A decoder with concurrency 1 has no goroutine that must be ended.
		unpack, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	}
	if err != nil {
		return nil, damaged(in, err)
	}
	if unpack != nil {
		in = newInput(&unpacked{from: in, text: unpack})
	}
	head = in.ahead(8)
	for _, other := range otherFiles() {
		if bytes.HasPrefix(head, []byte(other.magic)) {
			return nil, &FormatError{Line: 1, Reason: fmt.Sprintf("the file is %s; %s", other.name, other.advice)}
		}
	}
	if name := wideEncoding(head); name != "" {
		return nil, &FormatError{Line: 1, Reason: fmt.Sprintf("the file is text in %[1]s, and a history is in UTF-8; convert it (iconv -f %[1]s -t UTF-8)", name)}
	}
	if bytes.HasPrefix(head, []byte(textMark)) {
		in.pos += len(textMark)
	}
	return in, nil
}

// wideEncoding names the encoding of a text with more than one byte for each character. It
// judges by the mark in head, or by the zeros of the first two characters.
func wideEncoding(head []byte) string {
	zero := func(i int) bool { return i < len(head) && head[i] == 0 }
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")), bytes.HasPrefix(head, []byte("\x00\x00\xfe\xff")):
		return "UTF-32"
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return "UTF-16"
	case len(head) < 4:
		return ""
	case !zero(0) && zero(1) && !zero(2) && zero(3):
		return "UTF-16LE"
	case zero(0) && !zero(1) && zero(2) && !zero(3):
		return "UTF-16BE"
	}
	return ""
}

type unpacked struct {
	from *input
	text io.Reader
}

// Read returns an error of the file unchanged, and damage as a *FormatError.
func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.text.Read(p)
	if err != nil && err != io.EOF {
		err = damaged(u.from, err)
	}
	return n, err
}

func damaged(from *input, err error) error {
	if from.err != nil && from.err != io.EOF {
		return fmt.Errorf("exchange: read a history: %w", from.err)
	}
	return &FormatError{Line: 1, Reason: fmt.Sprintf("the compressed file cannot be unpacked any further (%v); is it cut short or damaged", err)}
}

// Read returns first the bytes read ahead, and then those of the source.
func (in *input) Read(p []byte) (int, error) {
	if !in.fill() {
		return 0, in.err
	}
	n := copy(p, in.buf[in.pos:in.end])
	in.pos += n
	return n, nil
}
