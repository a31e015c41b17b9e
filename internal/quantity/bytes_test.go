package quantity

import "testing"

func TestParse(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "0B": 0, "7B": 7, "1.5": 2, "1.5KiB": 1536, "400MiB": 400 << 20, "2GiB": 2 << 30,
		"1.1kB": 1100, "2.3kB": 2300, "1.5MB": 1_500_000, "2GB": 2e9, "1e3MB": 1e9, "0.5B": 1,
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%s is %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestBits(t *testing.T) {
	for text, want := range map[string]int64{"1Gbit": 1e9, "1500Mbit": 1.5e9, "100kbit": 1e5, "7bit": 7} {
		if got, err := ParseBits(text); err != nil || got != want || FormatBits(got) != text {
			t.Errorf("%s is %d, %v, written %s", text, got, err, FormatBits(got))
		}
	}
	for _, text := range []string{"", "1", "bit", "1GiB", "-1Mbit", "1gbit", "1 Gbit", "NaNbit"} {
		if got, err := ParseBits(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

func TestWhatParseRefuses(t *testing.T) {
	for _, text := range []string{
		"", "B", "MiB", "-1", "-1MiB", "NaN", "NaNB", "Inf", "InfGB", "1e30GiB", "1152921504606846976", "1TiBx", "1TB", "1 MiB", "1mib",
		"1KB", "1kB ", "1MiBB", "many",
	} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
	_, err := Parse("lots")
	if err == nil || err.Error() != `"lots" is not a size, such as 400MiB` {
		t.Error(err)
	}
}

func TestFormat(t *testing.T) {
	for bytes, want := range map[int64][2]string{
		0: {"0", "0"}, 1: {"1B", "1"}, 1000: {"1kB", "1000"}, 1024: {"1KiB", "1KiB"}, 1025: {"1025B", "1025"},
		1 << 20: {"1MiB", "1MiB"}, 3 << 29: {"1536MiB", "1536MiB"}, 1 << 40: {"1024GiB", "1024GiB"},
		2e6: {"2MB", "2000000"}, 1_500_000: {"1500kB", "1500000"}, 1024e6: {"1000000KiB", "1000000KiB"},
	} {
		if all, binary := Format(bytes), FormatBinary(bytes); all != want[0] || binary != want[1] {
			t.Errorf("%d is written %s and %s, want %s and %s", bytes, all, binary, want[0], want[1])
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "400MiB", "1.1kB", "0.0000001GiB", "1e17", "1152921504606846975", "999.999GB", "0x1p10B", "-0MB"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		bytes, err := Parse(text)
		if err != nil {
			if bytes != 0 {
				t.Fatalf("%q is %d and %v", text, bytes, err)
			}
			return
		}
		if bytes < 0 || bytes > 1<<60 {
			t.Fatalf("%q is %d bytes", text, bytes)
		}
		for _, written := range []string{Format(bytes), FormatBinary(bytes)} {
			if again, err := Parse(written); err != nil || again != bytes {
				t.Fatalf("%q is %d, which is written %s and read as %d, %v", text, bytes, written, again, err)
			}
		}
	})
}
