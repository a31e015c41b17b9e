package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/internal/expect"

	"github.com/google/jsonschema-go/jsonschema"
)

func jsonOf(t *testing.T, r *Result) []byte {
	t.Helper()
	var b bytes.Buffer
	expect.NoError(t, WriteJSON(&b, r))
	return b.Bytes()
}

// strictSchema is the schema, made to refuse properties that it does not name.
func strictSchema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	expect.NoError(t, json.Unmarshal(schemaText(t), &s))
	var walk func(*jsonschema.Schema)
	walk = func(s *jsonschema.Schema) {
		if s == nil {
			return
		}
		if s.Properties != nil {
			s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
		}
		for _, p := range s.Properties {
			walk(p)
		}
		for _, d := range s.Defs {
			walk(d)
		}
		walk(s.Items)
	}
	walk(&s)
	resolved, err := s.Resolve(nil)
	expect.NoError(t, err)
	return resolved
}

func TestExamplesKeepToTheSchema(t *testing.T) {
	strict := strictSchema(t)
	results := examples()
	results["nothing but what must be"] = &Result{Format: 1, Workload: "bank",
		Measurement: Measurement{Verdict: "invalid"}, Load: Load{Loop: "closed"}}
	for name, r := range results {
		var instance any
		expect.NoError(t, json.Unmarshal(jsonOf(t, r), &instance))
		if err := strict.Validate(instance); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	strict := strictSchema(t)
	for name, spoil := range map[string]func(map[string]any){
		"another verdict":   func(m map[string]any) { m["verdict"] = "fine" },
		"another format":    func(m map[string]any) { m["format"] = 2 },
		"a null list":       func(m map[string]any) { m["notes"] = nil },
		"a missing field":   func(m map[string]any) { delete(m, "throughput") },
		"an unnamed field":  func(m map[string]any) { m["speed"] = 1 },
		"a negative count":  func(m map[string]any) { m["outcomes"].(map[string]any)["unknown"] = -1 },
		"an odd percentile": func(m map[string]any) { m["latency"].(map[string]any)["curve"] = []any{[]any{1.5, 2.0}} },
	} {
		var instance map[string]any
		expect.NoError(t, json.Unmarshal(jsonOf(t, validRun()), &instance))
		spoil(instance)
		if err := strict.Validate(instance); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// TestSchemaNamesEveryField compares the structs with the schema both ways,
// also where no example has a value.
func TestSchemaNamesEveryField(t *testing.T) {
	var root jsonschema.Schema
	expect.NoError(t, json.Unmarshal(schemaText(t), &root))
	compareFields(t, &root, &root, reflect.TypeFor[Result](), "result")
}

func compareFields(t *testing.T, root, s *jsonschema.Schema, typ reflect.Type, path string) {
	t.Helper()
	if name, found := strings.CutPrefix(s.Ref, "#/$defs/"); found {
		s = root.Defs[name]
	}
	switch {
	case s == nil:
		t.Errorf("%s: the schema has nothing", path)
		return
	case typ.Kind() == reflect.Pointer && len(s.Types) == 0:
		compareFields(t, root, s, typ.Elem(), path)
		return
	case typ.Kind() == reflect.Slice:
		compareFields(t, root, s.Items, typ.Elem(), path+"[]")
		return
	case typ.Kind() != reflect.Struct || s.Type == "string":
		if s.Type == "" && len(s.Types) == 0 {
			t.Errorf("%s: the schema gives no type", path)
		}
		return
	}
	known := map[string]bool{}
	for _, field := range reflect.VisibleFields(typ) {
		if field.Anonymous {
			continue // its fields are among them
		}
		name, option, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" { // kept in memory only
			continue
		}
		known[name] = true
		p := s.Properties[name]
		if p == nil {
			t.Errorf("%s.%s is not in the schema", path, name)
			continue
		}
		if p.Description == "" {
			t.Errorf("%s.%s has no description", path, name)
		}
		if required := slices.Contains(s.Required, name); required == strings.HasPrefix(option, "omit") {
			t.Errorf("%s.%s: required is %v in the schema, and the field's option is %q", path, name, required, option)
		}
		compareFields(t, root, p, field.Type, path+"."+name)
	}
	for name := range s.Properties {
		if !known[name] {
			t.Errorf("the schema's %s.%s is not in the struct", path, name)
		}
	}
}

func TestJSONForm(t *testing.T) {
	for name, r := range examples() {
		first := jsonOf(t, r)
		if second := jsonOf(t, r); !bytes.Equal(first, second) {
			t.Errorf("%s: two writings differ", name)
		}
		if !bytes.HasSuffix(first, []byte("\n}\n")) || !bytes.HasPrefix(first, []byte("{\n  \"format\": 1,\n")) {
			t.Errorf("%s: not indented, or no newline at the end", name)
		}
		path := filepath.Join(t.TempDir(), "result.json")
		expect.NoError(t, os.WriteFile(path, first, 0o600))
		read, err := ReadJSON(path)
		expect.NoError(t, err)
		if again := jsonOf(t, read); !bytes.Equal(first, again) {
			t.Errorf("%s: reading and writing changes it", name)
		}
	}
}

// TestNoFigureThatIsNoNumber puts NaN and infinities into every number there
// is, one after the other, and reads them back.
func TestNoFigureThatIsNoNumber(t *testing.T) {
	strict := strictSchema(t)
	for _, odd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for i := 0; ; i++ {
			r := violatedRun()
			r.Series = seriesOf(3, 1, 2, 100)
			r.Latency.Curve, r.ServiceTime.Curve = r.Latency.Curve[:2], nil
			r.Uncommitted.Curve, r.Client.OwnLag.Curve = nil, nil
			spoiled := setFloat(reflect.ValueOf(r).Elem(), odd, &countdown{left: i})
			if !spoiled {
				if i < 60 {
					t.Fatalf("only %d numbers were found", i)
				}
				break
			}
			var back Result
			expect.NoError(t, json.Unmarshal(jsonOf(t, r), &back))
			if back.Measurement.Verdict != "invalid" || len(back.Measurement.Reasons) != 1 {
				t.Errorf("number %d is %v, and the measurement is %+v", i, odd, back.Measurement)
			}
			if i%10 > 0 { // the schema is slow, and the form is the same
				continue
			}
			var instance any
			expect.NoError(t, json.Unmarshal(jsonOf(t, r), &instance))
			if err := strict.Validate(instance); err != nil {
				t.Errorf("number %d: %v", i, err)
			}
		}
	}
}

// countdown leads to the number that is to be set.
type countdown struct{ left int }

// setFloat sets one of the numbers in v and reports whether there was one.
func setFloat(v reflect.Value, f float64, n *countdown) bool {
	switch v.Kind() {
	case reflect.Float64:
		if n.left--; n.left < 0 {
			v.SetFloat(f)
			return true
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && setFloat(v.Field(i), f, n) {
				return true
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if setFloat(v.Index(i), f, n) {
				return true
			}
		}
	}
	return false
}

func TestCleanLeavesTheOriginal(t *testing.T) {
	r := validRun()
	r.Throughput.PerSecond, r.Series.P50[0] = math.NaN(), math.Inf(1)
	c := clean(r)
	c.Checks[0].Name, c.Data.Rows["accounts"], *c.Database.Nodes = "changed", 1, 9
	if !math.IsNaN(r.Throughput.PerSecond) || r.Checks[0].Name != "total" || r.Data.Rows["accounts"] != 10000 || *r.Database.Nodes != 2 {
		t.Error("the copy shares memory with the original")
	}
	if c.Series.P50[0] != -1 || c.Throughput.PerSecond != 0 {
		t.Errorf("got %v and %v, want -1 for a time that is not there and 0", c.Series.P50[0], c.Throughput.PerSecond)
	}
	if len(c.Measurement.Reasons) != 2 || !strings.Contains(c.Measurement.Reasons[0], "throughput.committed_per_second") {
		t.Errorf("reasons are %q", c.Measurement.Reasons)
	}
}

func TestReadJSONErrors(t *testing.T) {
	folder := t.TempDir()
	whole := jsonOf(t, validRun())
	uneven := validRun()
	uneven.Series.P99 = uneven.Series.P99[1:]
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"text.json":    {[]byte("no result"), "is not a result of assay"},
		"empty.json":   {nil, "is not a result of assay"},
		"cut.json":     {whole[:len(whole)/2], "or was cut"},
		"more.json":    {append(slices.Clone(whole), '{'), "is not a result of assay"},
		"other.json":   {[]byte(`{"name": "something else"}`), `it has no "format"`},
		"null.json":    {[]byte("null"), `it has no "format"`},
		"list.json":    {[]byte("[1]"), "is not a result of assay"},
		"newer.json":   {bytes.Replace(whole, []byte(`"format": 1`), []byte(`"format": 2`), 1), "format version 2, and this assay reads version 1"},
		"bare.json":    {[]byte(`{"format": 1}`), "names no workload"},
		"verdict.json": {bytes.Replace(whole, []byte(`"verdict": "valid"`), []byte(`"verdict": "good"`), 1), `"good" is not a verdict`},
		"uneven.json":  {jsonOf(t, uneven), "differ in length"},
	} {
		path := filepath.Join(folder, name)
		expect.NoError(t, os.WriteFile(path, c.text, 0o600))
		assertFileError(t, path, c.want)
	}
	missing := filepath.Join(folder, "missing.json")
	if err := assertFileError(t, missing, "there is no such file"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}
	assertFileError(t, folder, "cannot be read: is a directory")
}

func assertFileError(t *testing.T, path, want string) error {
	t.Helper()
	r, err := ReadJSON(path)
	var fileError *FileError
	if r != nil || !errors.As(err, &fileError) {
		t.Fatalf("%s: got %v, %v; want a *FileError", path, r, err)
	}
	if !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %q, want one that names the file and says %q", err, want)
	}
	return err
}

func TestReadJSONPassesOverNewFields(t *testing.T) {
	text := bytes.Replace(jsonOf(t, validRun()), []byte(`"format": 1,`), []byte(`"format": 1, "later": {"a": []},`), 1)
	path := filepath.Join(t.TempDir(), "result.json")
	expect.NoError(t, os.WriteFile(path, text, 0o600))
	r, err := ReadJSON(path)
	if err != nil || r.Verdict != check.Valid || r.Seed != 42 {
		t.Errorf("got %+v, %v", r, err)
	}
}

// schemaText is the JSON Schema (2020-12) of result.json.
func schemaText(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("schema.json")
	expect.NoError(t, err)
	return text
}
