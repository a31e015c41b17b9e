package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// The files of a run's folder that other packages read, too.
const (
	FileResult      = "result.json"
	FileReport      = "report.html"
	FileScenario    = "scenario.yaml"
	FileEnvironment = "environment.json"
)

// Format is the version of result.json's form that this package writes and reads.
const Format = 1

// maxFile bounds what ReadJSON reads into memory. A week in intervals of a second fits.
const maxFile = 256 << 20

// FileError means that a file or folder does not hold what should be read from it.
type FileError struct {
	Path string
	// Problem says what is wrong and what can be done.
	Problem string
	Err     error
}

func (e *FileError) Error() string { return e.Path + ": " + e.Problem }

func (e *FileError) Unwrap() error { return e.Err }

// WriteJSON writes r as result.json: indented, fields in a fixed order, a newline at the end. The
// same result gives the same bytes. Empty lists are []. A number that is not finite becomes 0 (-1
// where that means none), and the measurement is then invalid and names it.
func WriteJSON(w io.Writer, r *Result) error {
	return Indented(w, clean(r), "  ", "result")
}

// Indented writes JSON that an error calls what.
func Indented(w io.Writer, value any, indent, what string) error {
	text, err := json.MarshalIndent(value, "", indent)
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the %s: %w", what, err)
	}
	return nil
}

// ReadJSON reads a result of WriteJSON. It returns a *FileError if the file is missing,
// unreadable, no result or of another format version. It ignores unknown fields.
func ReadJSON(path string) (*Result, error) {
	var r Result
	if err := ReadFile(path, "result", "name the folder of a run that has ended, or its result.json", &r); err != nil {
		return nil, err
	}
	switch {
	case r.Workload == "":
		return nil, &FileError{path, "is not a result of assay: it names no workload", nil}
	case !even(&r.Series) || r.Merged != nil && !even(r.Merged):
		return nil, &FileError{path, "was altered: the lists of \"series\" differ in length", nil}
	}
	renewVerdict(&r)
	return &r, nil
}

// ReadFile reads JSON that assay wrote, of at most maxFile bytes and of this format. The
// *FileError for a missing file says what to do.
func ReadFile(path, kind, missing string, v any) error {
	text, err := readBounded(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &FileError{path, "there is no such file; " + missing, err}
	case err != nil:
		return &FileError{path, "cannot be read: " + cause(err), err}
	case len(text) > maxFile:
		return &FileError{path, "is too large to be a " + kind + " of assay", nil}
	}
	var head struct {
		Format   *int `json:"format"`
		Baseline *int `json:"baseline_format"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return &FileError{path, "is not a " + kind + " of assay, or was cut: " + err.Error(), err}
	}
	switch version := cmp.Or(head.Format, head.Baseline); {
	case version == nil:
		return &FileError{path, "is not a " + kind + " of assay: it has no \"format\"", nil}
	case *version != Format:
		return &FileError{path, fmt.Sprintf("has format version %d, and this assay reads version %d; use the assay that wrote it", *version, Format), nil}
	}
	if err := json.Unmarshal(text, v); err != nil {
		return &FileError{path, "is not a " + kind + " of assay: " + err.Error(), err}
	}
	return nil
}

func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() // nothing was written; an error here loses nothing
	return io.ReadAll(io.LimitReader(file, maxFile+1))
}

// cause strips the operation and the path that os adds.
func cause(err error) string {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err.Error()
	}
	return err.Error()
}
