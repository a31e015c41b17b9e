package main

import (
	"errors"
	"testing"

	"assay/cluster"
	"assay/internal/expect"
)

// TestOneOfSeveralClustersIsNamed: a spec that several have ends none of them.
func TestOneOfSeveralClustersIsNamed(t *testing.T) {
	found := []cluster.Record{{ID: "aaaa0001", Spec: "redis:1"}, {ID: "aaaa0002", Spec: "redis:1,cpu=1"}}
	err := oneOf("redis:1", found)
	if !errors.As(err, new(usageError)) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"aaaa0001", "aaaa0002"} {
		expect.Text(t, "several", err.Error(), want)
	}
	expect.NoError(t, oneOf("redis:1", found[:1]))
}
