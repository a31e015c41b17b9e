package exchange

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow bounds what a decompressor keeps: the window of zstd --long=27,
// the largest that zstd itself unpacks without being told to. All else that is
// read is bounded by what is in flight, however much a small file unpacks to.
const maxWindow = 128 << 20

// The bytes with which a file of another kind begins.
const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
	// textMark is the byte order mark in UTF-8.
	textMark = "\xef\xbb\xbf"
)

// otherFiles are kinds of files that hold no history as they stand, and what is to be
// done with them.
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

// plainText returns the text of a history: in itself, or what it is the
// compressed form of, without its byte order mark. It refuses what is in
// another encoding than UTF-8, or is compressed otherwise.
func plainText(in *input) (*input, error) {
	head := in.ahead(8)
	var unpack io.Reader
	var err error
	switch {
	case bytes.HasPrefix(head, []byte(gzipMagic)):
		unpack, err = gzip.NewReader(in)
	case bytes.HasPrefix(head, []byte(zstdMagic)):
		// One decoder at a time has no goroutine that would have to be ended.
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

// wideEncoding names the encoding of a text that begins with head if its
// characters are of more than one byte each, by its mark, or by the zeros of
// its first two characters.
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

// unpacked is the text of a compressed file.
type unpacked struct {
	from *input
	text io.Reader
}

// Read returns errors of the file as they are, and damage as a *FormatError.
func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.text.Read(p)
	if err != nil && err != io.EOF {
		err = damaged(u.from, err)
	}
	return n, err
}

// damaged is the error of a compressed file that cannot be unpacked.
func damaged(from *input, err error) error {
	if from.err != nil && from.err != io.EOF {
		return fmt.Errorf("exchange: read a history: %w", from.err)
	}
	return &FormatError{Line: 1, Reason: fmt.Sprintf("the compressed file cannot be unpacked any further (%v); is it cut short or damaged", err)}
}

// Read hands on what was read ahead, and then the source.
func (in *input) Read(p []byte) (int, error) {
	if !in.fill() {
		return 0, in.err
	}
	n := copy(p, in.buf[in.pos:in.end])
	in.pos += n
	return n, nil
}
