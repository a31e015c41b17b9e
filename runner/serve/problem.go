package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"assay/store"
	"assay/workload/entity"
)

// Problem is the body of an error (RFC 9457), with members of our own.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Outcome is "failed" if the request certainly had no effect, otherwise "unknown".
	Outcome string `json:"outcome"`
	// Class is a short stable word for the error.
	Class string `json:"class"`
	// Name, Hint and Others come from a *store.ForeignError or NoSchemaError.
	Name   string   `json:"name,omitempty"`
	Hint   string   `json:"hint,omitempty"`
	Others []string `json:"others,omitempty"`
	// Lease comes from a *store.HeldError, which has a Name too.
	Lease *store.Lease `json:"lease,omitempty"`
}

// The values of Problem.Outcome.
const (
	outcomeFailed  = "failed"
	outcomeUnknown = "unknown"
)

// The service's own classes. Errors of the database have the driver's classes.
const (
	classRequest   = "request refused"
	classNotFound  = "not found"
	classDuplicate = "duplicate id"
	classBusy      = "service busy"
	classReset     = "reset not allowed"
	classForeign   = "foreign schema"
	classNoSchema  = "no schema"
	classHeld      = "held by another run"
	classDatabase  = "database error"
)

func problem(status int, class, detail string) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Outcome: outcomeFailed, Class: class}
}

func badRequest(format string, values ...any) *Problem {
	return problem(http.StatusBadRequest, classRequest, fmt.Sprintf(format, values...))
}

// problemOf converts an error of store.Administration.
func problemOf(err error) *Problem {
	var (
		foreign *store.ForeignError
		missing *store.NoSchemaError
		held    *store.HeldError
	)
	switch {
	case errors.As(err, &foreign):
		p := problem(http.StatusConflict, classForeign, err.Error())
		p.Name, p.Hint, p.Others = foreign.Name, foreign.Hint, foreign.Others
		return p
	case errors.As(err, &missing):
		p := problem(http.StatusNotFound, classNoSchema, err.Error())
		p.Name = missing.Name
		return p
	case errors.As(err, &held):
		p := problem(http.StatusConflict, classHeld, err.Error())
		p.Name, p.Lease = held.Name, &held.Lease
		return p
	default:
		return problem(http.StatusServiceUnavailable, classDatabase, err.Error())
	}
}

func answerProblem(w http.ResponseWriter, p *Problem) {
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client may be gone
}

func answerJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

// readJSON reads a body that must be one JSON value of v's type without unknown fields.
func readJSON(w http.ResponseWriter, r *http.Request, v any) *Problem {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return problem(http.StatusUnsupportedMediaType, classRequest, "the body's Content-Type must be application/json")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return problem(http.StatusRequestEntityTooLarge, classRequest, fmt.Sprintf("the body is longer than %d bytes", maxBody))
	}
	if err != nil {
		return badRequest("the body could not be read")
	}
	if !utf8.Valid(body) {
		return badRequest("the body is not UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return badRequest("the body cannot be read: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return badRequest("something follows the JSON value of the body")
	}
	return nil
}

// entityBody is an entity as clients send it; nil fields are missing.
type entityBody struct {
	ID          *string `json:"id"`
	Name        *string `json:"name"`
	Age         *int    `json:"age"`
	Description *string `json:"description"`
	Address     *string `json:"address"`
	Phone       *string `json:"phone"`
	Email       *string `json:"email"`
}

// entity checks the fields. An entity without an id gets a new one.
func (g entityBody) entity() (e entity.Entity, p *Problem) {
	for _, f := range []struct {
		name  string
		value *string
		into  *string
		most  int
	}{
		{"name", g.Name, &e.Name, entity.MaxName}, {"description", g.Description, &e.Description, entity.MaxDescription},
		{"address", g.Address, &e.Address, entity.MaxAddress}, {"phone", g.Phone, &e.Phone, entity.MaxPhone}, {"email", g.Email, &e.Email, entity.MaxEmail},
	} {
		switch {
		case f.value == nil:
			return e, badRequest("field %q is missing", f.name)
		case len(*f.value) > f.most:
			return e, badRequest("field %q is longer than %d bytes", f.name, f.most)
		case strings.ContainsRune(*f.value, 0):
			return e, badRequest("field %q holds a null character", f.name)
		}
		*f.into = *f.value
	}
	switch {
	case g.Age == nil:
		return e, badRequest("field %q is missing", "age")
	case *g.Age < 0 || *g.Age > entity.MaxAge:
		return e, badRequest("field %q must be 0 to %d", "age", entity.MaxAge)
	}
	e.Age = *g.Age
	if g.ID == nil {
		e.ID = uuid.New()
		return e, nil
	}
	e.ID, p = idOf(*g.ID)
	return e, p
}

func idOf(text string) (uuid.UUID, *Problem) {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 {
		return id, badRequest("the id is no UUID in the form 01234567-89ab-cdef-0123-456789abcdef")
	}
	return id, nil
}
