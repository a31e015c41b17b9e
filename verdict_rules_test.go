package assay_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"assay/check"
)

// rulesDigest is of the code by which findings become a verdict, as it was when check.Rules was
// last looked at.
const rulesDigest = "136facdd7c804edc"

// rulesNumber is check.Rules at that time.
const rulesNumber = 5

// TestRulesOfTheVerdictAreNumbered: who changes what is promised, or what follows from it, decides
// whether published pages are still judged alike.
func TestRulesOfTheVerdictAreNumbered(t *testing.T) {
	rules := func(s source) bool {
		return !s.test && (strings.HasPrefix(s.path, "store/promise/") || strings.HasPrefix(s.path, "store/durability/") ||
			strings.HasPrefix(s.path, "runner/judge/") || s.path == "check/check.go")
	}
	sum, files := sha256.New(), 0
	for _, s := range sources(t) {
		if !rules(s) {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, s.path, nil, 0) // without comments, which decide nothing
		if err != nil {
			t.Fatal(err)
		}
		var code bytes.Buffer
		if err := format.Node(&code, set, file); err != nil {
			t.Fatal(err)
		}
		sum.Write([]byte(strings.Join(strings.Fields(code.String()), " ")))
		files++
	}
	if files < 10 {
		t.Fatalf("%d files have rules of the verdict", files)
	}
	if digest := fmt.Sprintf("%.8x", sum.Sum(nil)); digest != rulesDigest || check.Rules != rulesNumber {
		t.Errorf("the rules of the verdict have changed (digest %s, check.Rules %d). If a run can get another verdict or another durability by that, "+
			"raise check.Rules: pages of lower rules are made again or marked. Then enter both here.", digest, check.Rules)
	}
}
