package report

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"assay/measure"
)

// clean returns a deep copy of r for JSON and for all reports. Slices and maps that are always
// written are never nil, and times are in UTC. Numbers that are not finite are replaced, which
// makes the measurement invalid and names them.
func clean(r *Result) *Result {
	var odd []string
	copied := copyValue(reflect.ValueOf(*r), "", &odd).Interface().(Result)
	for _, name := range odd {
		copied.Measurement.Verdict = string(measure.Invalid)
		copied.Measurement.Reasons = append(copied.Measurement.Reasons,
			fmt.Sprintf("%s is missing: it was not a finite number", name))
	}
	exit := ExitOf(&copied)
	copied.Exit = &exit
	return &copied
}

// copyValue copies deeply. path is v's JSON name. odd gets the names of non-finite numbers once.
func copyValue(v reflect.Value, path string, odd *[]string) reflect.Value {
	if t, ok := v.Interface().(time.Time); ok {
		return reflect.ValueOf(t.Round(0).UTC()) // Round drops the monotonic clock
	}
	switch v.Kind() {
	case reflect.Struct:
		return copyStruct(v, path, odd)
	case reflect.Array:
		fresh := reflect.New(v.Type()).Elem()
		for i := range v.Len() {
			fresh.Index(i).Set(copyValue(v.Index(i), path, odd))
		}
		return fresh
	case reflect.Slice:
		fresh := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			fresh.Index(i).Set(copyValue(v.Index(i), path, odd))
		}
		return fresh
	case reflect.Map:
		fresh := reflect.MakeMapWithSize(v.Type(), v.Len())
		for _, key := range v.MapKeys() {
			fresh.SetMapIndex(key, copyValue(v.MapIndex(key), path, odd))
		}
		return fresh
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		fresh := reflect.New(v.Type().Elem())
		fresh.Elem().Set(copyValue(v.Elem(), path, odd))
		return fresh
	case reflect.Float64:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			if !slices.Contains(*odd, path) {
				*odd = append(*odd, path)
			}
			return reflect.ValueOf(absent(path))
		}
	}
	return v
}

func copyStruct(v reflect.Value, path string, odd *[]string) reflect.Value {
	fresh := reflect.New(v.Type()).Elem()
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if path != "" {
			name = path + "." + name
		}
		fresh.Field(i).Set(copyValue(v.Field(i), name, odd))
	}
	return fresh
}

func absent(path string) float64 {
	switch path {
	case "client.cpu_share", "series.p50_ms", "series.p95_ms", "series.p99_ms", "series.max_ms",
		"series_merged.p50_ms", "series_merged.p95_ms", "series_merged.p99_ms", "series_merged.max_ms":
		return -1
	}
	return 0
}

// points is the shortest length of the series' slices; sound ones have the same.
func points(s *Series) int {
	return min(len(s.Start), len(s.Committed), len(s.Rejected), len(s.Failed), len(s.Unknown),
		len(s.P50), len(s.P95), len(s.P99), len(s.Max))
}

func even(s *Series) bool {
	return points(s) == max(len(s.Start), len(s.Committed), len(s.Rejected), len(s.Failed),
		len(s.Unknown), len(s.P50), len(s.P95), len(s.P99), len(s.Max))
}
