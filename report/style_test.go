package report

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"assay/internal/expect"
)

// TestOneStyle: sizes of text and colors are named once, for all pages; what is drawn has
// sizes of its own.
func TestOneStyle(t *testing.T) {
	for _, path := range []string{"assets/page.css", "assets/document.css", "assets/chart.css", "article/assets/article.css", "view/assets/view.css"} {
		text, err := os.ReadFile(path)
		expect.NoError(t, err)
		rules := regexp.MustCompile(`--[a-z0-9-]+:[^;}]*;`).ReplaceAllString(string(text), "")
		for _, bad := range regexp.MustCompile(`#[0-9a-f]{3,8}\b|rgba?\(|hsl\(|font-size: [0-9.]*r?em`).FindAllString(rules, -1) {
			if bad != "font-size: 1rem" {
				t.Errorf("%s has %q beside the named ones", path, bad)
			}
		}
	}
}

// TestContrast: text is told from what is behind it by WCAG's 4.5 to 1, and what is drawn
// by 3 to 1, in both schemes.
func TestContrast(t *testing.T) {
	light, rest, found := strings.Cut(pageStyle, "@media screen and (prefers-color-scheme: dark)")
	dark, _, closed := strings.Cut(rest, "* {")
	if !found || !closed {
		t.Fatal("the style has no dark scheme")
	}
	for name, scheme := range map[string]string{"light": light, "dark": dark} {
		colors := map[string]string{}
		for _, m := range regexp.MustCompile(`--([a-z0-9-]+): (#[0-9a-f]{6})`).FindAllStringSubmatch(scheme, -1) {
			colors[m[1]] = m[2]
		}
		want := func(least float64, back string, fore ...string) {
			for _, f := range fore {
				if got := contrast(t, colors[f], colors[back]); got < least {
					t.Errorf("%s: %s on %s has %.2f to 1, want %.1f", name, f, back, got, least)
				}
			}
		}
		for _, back := range []string{"back", "panel"} {
			want(4.5, back, "fore", "quiet", "link", "good", "bad", "unsure", "ww", "wr", "rw", "process", "realtime", "other", "fault-edge")
			want(3, back, "line-1", "line-2", "line-3", "line-4", "line-5", "line-6")
		}
		for _, state := range []string{"good", "bad", "unsure"} {
			want(4.5, state+"-back", state, "fore", "link")
		}
	}
}

// contrast is by https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	luminance := func(color string) float64 {
		n, err := strconv.ParseUint(strings.TrimPrefix(color, "#"), 16, 32)
		if err != nil || len(color) != 7 {
			t.Fatalf("%q is no color", color)
		}
		var sum float64
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			c := float64(n>>(16-8*i)&255) / 255
			if c <= 0.03928 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			sum += weight * c
		}
		return sum
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}
