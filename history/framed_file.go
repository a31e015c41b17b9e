package history

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"strings"
)

// A framed file begins with eight bytes that name its form, the last two the form's version.
// Frames follow: a header of three little-endian 4-byte numbers, and the payload. The numbers
// are the payload's length, the payload's CRC-32C (Castagnoli), and the CRC-32C of these eight
// bytes. One call writes a frame, so a killed process leaves at most the beginning of a frame
// at the end. Everything else is damage. As the length has its own checksum, a damaged length
// is not mistaken for a torn frame.
const (
	magicLen    = 8
	formLen     = 6
	frameHeader = 12
	// MaxFrame bounds a frame's payload, in bytes.
	MaxFrame = 4 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// FormatError describes where a file is not what it should be.
type FormatError struct {
	Path   string
	Offset int64
	Reason string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s, at byte %d: %s", e.Path, e.Offset, e.Reason)
}

// WriteError means that a file of the run could not be written.
type WriteError struct {
	Path string
	Err  error
}

func (e *WriteError) Error() string {
	cause := e.Err
	if inner := (*fs.PathError)(nil); errors.As(e.Err, &inner) {
		cause = inner.Err // the path is said already
	}
	return fmt.Sprintf("cannot write %s: %v; free space or choose another --out", e.Path, cause)
}

func (e *WriteError) Unwrap() error { return e.Err }

// WriteFile writes a whole file or none, so a reader never sees half. It returns a *WriteError.
func WriteFile(path string, data []byte) error {
	partial := path + ".partial"
	if err := os.WriteFile(partial, data, 0o644); err != nil {
		_ = os.Remove(partial) // what matters is the error at hand
		return &WriteError{Path: path, Err: err}
	}
	if err := os.Rename(partial, path); err != nil {
		return &WriteError{Path: path, Err: err}
	}
	return nil
}

// WriteJSON is WriteFile with a value as indented JSON.
func WriteJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return &WriteError{Path: path, Err: err}
	}
	return WriteFile(path, append(text, '\n'))
}

// FrameWriter writes a framed file. It is not safe for concurrent use.
type FrameWriter struct {
	file  *os.File
	frame []byte
}

// CreateFrames creates a file, which must not exist. magic is eight bytes.
func CreateFrames(path, magic string) (*FrameWriter, error) {
	if len(magic) != magicLen {
		return nil, fmt.Errorf("history: magic %q is not %d bytes", magic, magicLen)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, &WriteError{Path: path, Err: err}
	}
	if _, err := file.WriteString(magic); err != nil {
		return nil, &WriteError{Path: path, Err: errors.Join(err, file.Close())}
	}
	return &FrameWriter{file: file}, nil
}

// WriteFrame writes one frame; payload must not be longer than MaxFrame.
func (w *FrameWriter) WriteFrame(payload []byte) error {
	if len(payload) > MaxFrame {
		return fmt.Errorf("history: frame of %d bytes is longer than %d", len(payload), MaxFrame)
	}
	w.frame = binary.LittleEndian.AppendUint32(w.frame[:0], uint32(len(payload)))
	w.frame = binary.LittleEndian.AppendUint32(w.frame, crc32.Checksum(payload, castagnoli))
	w.frame = binary.LittleEndian.AppendUint32(w.frame, crc32.Checksum(w.frame, castagnoli))
	w.frame = append(w.frame, payload...)
	if _, err := w.file.Write(w.frame); err != nil {
		return &WriteError{Path: w.file.Name(), Err: err}
	}
	return nil
}

// Close closes the file.
func (w *FrameWriter) Close() error {
	if err := w.file.Close(); err != nil {
		return &WriteError{Path: w.file.Name(), Err: err}
	}
	return nil
}

// FrameReader reads a framed file. It is not safe for concurrent use.
type FrameReader struct {
	file    *os.File
	in      *bufio.Reader
	size    int64
	offset  int64
	payload []byte
}

// OpenFrames opens a framed file, or returns a *FormatError if it begins with another magic.
func OpenFrames(path, magic string) (*FrameReader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := &FrameReader{file: file, in: bufio.NewReaderSize(file, 1<<20), offset: magicLen}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	r.size = info.Size()
	head := make([]byte, magicLen)
	if _, err := io.ReadFull(r.in, head); err != nil || string(head) != magic {
		bad := &FormatError{Path: path, Reason: otherForm(string(head), magic)}
		return nil, errors.Join(bad, file.Close())
	}
	return r, nil
}

func otherForm(head, magic string) string {
	if strings.HasPrefix(head, magic[:formLen]) {
		return fmt.Sprintf("version %q of its form, and this assay reads version %q; use the assay that wrote it", head[formLen:], magic[formLen:])
	}
	return fmt.Sprintf("not a file of the form %s", magic)
}

// ReadFrame returns the next payload, valid until the next call, or io.EOF. A torn last frame is
// io.EOF too. A damaged frame is a *FormatError.
func (r *FrameReader) ReadFrame() ([]byte, error) {
	left := r.size - r.offset
	if left == 0 {
		return nil, io.EOF
	}
	if left < frameHeader {
		return nil, io.EOF
	}
	var head [frameHeader]byte
	if _, err := io.ReadFull(r.in, head[:]); err != nil {
		return nil, fmt.Errorf("history: read %s: %w", r.file.Name(), err)
	}
	if crc32.Checksum(head[:8], castagnoli) != binary.LittleEndian.Uint32(head[8:]) {
		return nil, r.damaged("a frame whose length cannot be trusted")
	}
	length := int64(binary.LittleEndian.Uint32(head[:4]))
	if length > MaxFrame {
		return nil, r.damaged("a frame of impossible length")
	}
	if left < frameHeader+length {
		return nil, io.EOF
	}
	if int64(cap(r.payload)) < length {
		r.payload = make([]byte, length)
	}
	r.payload = r.payload[:length]
	if _, err := io.ReadFull(r.in, r.payload); err != nil {
		return nil, fmt.Errorf("history: read %s: %w", r.file.Name(), err)
	}
	if crc32.Checksum(r.payload, castagnoli) != binary.LittleEndian.Uint32(head[4:8]) {
		return nil, r.damaged("a frame whose checksum is wrong")
	}
	r.offset += frameHeader + length
	return r.payload, nil
}

func (r *FrameReader) damaged(reason string) error {
	return &FormatError{Path: r.file.Name(), Offset: r.offset, Reason: reason}
}

// Close closes the file.
func (r *FrameReader) Close() error { return r.file.Close() }
