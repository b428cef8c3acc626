package hostlist_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"knee/internal/hostlist"
)

func ExampleExpand() {
	hosts, err := hostlist.Expand("a[01-03,07],b3")
	fmt.Println(hosts, err)
	fmt.Println(hostlist.Compress(hosts))
	// Output:
	// [a01 a02 a03 a07 b3] <nil>
	// a[01-03,07],b3
}

func TestExpand(t *testing.T) {
	tests := map[string]string{
		"n1":                   "n1",
		"login":                "login",
		"n[1-3]":               "n1 n2 n3",
		"n[9-11]":              "n9 n10 n11",
		"n[09-11]":             "n09 n10 n11",
		"n[098-101]":           "n098 n099 n100 n101",
		"rack[1-2]node[01-02]": "rack1node01 rack1node02 rack2node01 rack2node02",
		"gpu[1-2]-east":        "gpu1-east gpu2-east",
		"a, b[1,3]":            "a b1 b3",
		"n[3,1]":               "n3 n1",
		"n1,n1":                "n1 n1",
		"ip-10-0-0-[7-8]":      "ip-10-0-0-7 ip-10-0-0-8",
	}
	for list, want := range tests {
		got, err := hostlist.Expand(list)
		if err != nil {
			t.Errorf("Expand(%q): %v", list, err)
		}
		if diff := cmp.Diff(strings.Fields(want), got); diff != "" {
			t.Errorf("Expand(%q) (-want +got):\n%s", list, diff)
		}
	}
}

func TestExpandRefuses(t *testing.T) {
	tests := map[string]string{
		"":                       "entry 1 is empty",
		"a,,b":                   "entry 2 is empty",
		"a[1-2":                  "[ without ]",
		"a1]":                    "] without [ at byte 3",
		"a[[1]]":                 "nested [ at byte 3",
		"a[]":                    `"" is not a number`,
		"a[1-]":                  `"" is not a number`,
		"a[x]":                   `"x" is not a number`,
		"a[-1]":                  `"" is not a number`,
		"a[4-2]":                 `range "4-2" runs backwards`,
		"a b":                    "cannot be part of a host name",
		"é1":                     "cannot be part of a host name",
		"a[1-99999]":             "want at most 65536 names",
		"a[1-999]b[1-999]":       "want at most 65536 names",
		"a[1-40000],b[1-40000]":  "want at most 65536 names",
		"a[12345678901]":         "1 to 9 digits",
		strings.Repeat("a", 300): "want at most 253",
		"a[1-65536],b":           "want at most 65536 names",
	}
	for list, want := range tests {
		if _, err := hostlist.Expand(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Expand(%.40q) = %v, want an error with %q", list, err, want)
		}
	}
}

func TestCompress(t *testing.T) {
	tests := map[string]string{
		"":                     "",
		"login":                "login",
		"n1":                   "n1",
		"n1 n2 n3":             "n[1-3]",
		"n8 n9 n10":            "n[8-10]",
		"n08 n09 n10":          "n[08-10]",
		"n8 n09":               "n[8,09]",
		"n3 n2":                "n[3,2]",
		"a1 a2 b1":             "a[1-2],b1",
		"a1-x a2-x":            "a[1-2]-x",
		"n1 n1":                "n[1,1]",
		"n12345678901 n2":      "n12345678901,n2",
		"rack1n1 rack1n2 r2n1": "rack1n[1-2],r2n1",
	}
	for hosts, want := range tests {
		if got := hostlist.Compress(strings.Fields(hosts)); got != want {
			t.Errorf("Compress(%q) = %q, want %q", hosts, got, want)
		}
	}
}

// Every list of valid names survives folding, in order.
func TestCompressRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-b]{0,2}[0-9]{1,4}(-[a-b][0-9]?)?|[a-b.]{1,3}`)
		hosts := rapid.SliceOfN(name, 1, 30).Draw(t, "hosts")
		got, err := hostlist.Expand(hostlist.Compress(hosts))
		if err != nil {
			t.Fatalf("%q: %v", hosts, err)
		}
		if diff := cmp.Diff(hosts, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"a[01-04,07],b3", "r[1-2]n[1-4]", "a[", "]", "a[1-2]x[3]", "n[0-0]", "-", "n[00-1]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		hosts, err := hostlist.Expand(list)
		if err != nil {
			return
		}
		again, err := hostlist.Expand(hostlist.Compress(hosts))
		if err != nil || !cmp.Equal(hosts, again) {
			t.Fatalf("%q expands to %q, which folds to %q: %v", list, hosts, hostlist.Compress(hosts), err)
		}
	})
}
