package shard

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"knee/data"

	"pgregory.net/rapid"
)

// resnet50 is the parameters of a pre-activation ResNet-50 (He et al.,
// Identity mappings in deep residual networks, 2016) as MXNet builds it for
// ImageNet: a normalisation of the input, a 7×7 convolution, 3, 4, 6 and 3
// bottleneck units whose convolutions follow their normalisations, and a
// classifier of 1000 classes.
func resnet50() string {
	var b strings.Builder
	add := func(name, shape string) { fmt.Fprintf(&b, "%s,%s\n", name, shape) }
	norm := func(name string, n int) {
		add(name+".gamma", fmt.Sprint(n))
		add(name+".beta", fmt.Sprint(n))
	}
	conv := func(name string, out, in, k int) { add(name+".weight", fmt.Sprintf("%dx%dx%dx%d", out, in, k, k)) }
	add("name", "shape")
	norm("bn_data", 3)
	conv("conv0", 64, 3, 7)
	norm("bn0", 64)
	in := 64
	for stage, units := range []int{3, 4, 6, 3} {
		out := 256 << stage
		for unit := range units {
			name := fmt.Sprintf("stage%d_unit%d", stage+1, unit+1)
			norm(name+"_bn1", in)
			conv(name+"_conv1", out/4, in, 1)
			norm(name+"_bn2", out/4)
			conv(name+"_conv2", out/4, out/4, 3)
			norm(name+"_bn3", out/4)
			conv(name+"_conv3", out, out/4, 1)
			if unit == 0 {
				conv(name+"_sc", out, in, 1)
			}
			in = out
		}
	}
	norm("bn1", in)
	add("fc1.weight", "1000x2048")
	add("fc1.bias", "1000")
	return b.String()
}

func TestTheExampleIsResNet50(t *testing.T) {
	want, err := Read(strings.NewReader(resnet50()), "built")
	if err != nil {
		t.Fatal(err)
	}
	got, err := data.Load("testdata/resnet50.csv", Read)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 157 || Total(got) != 25_549_486 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%d tensors of %d elements, want 157 of 25,549,486, as built here", len(got), Total(got))
	}
}

// TestGolden: the figures that Optimus publishes for ResNet-50 on 10 servers
// (EuroSys 2018, section 5.3). Its figures for MXNet, 3,591,679 and 43, depend
// on how the keys of its run were numbered; the 247 requests do not.
func TestGolden(t *testing.T) {
	tensors, err := data.Load("testdata/resnet50.csv", Read)
	if err != nil {
		t.Fatal(err)
	}
	all, err := Compare(tensors, 10)
	if err != nil {
		t.Fatal(err)
	}
	if a := all[0]; a.Method != "paa" || a.SizeSpread != 104_576 || a.RequestSpread != 1 || a.Requests != 157 {
		t.Errorf("%s: sizes differ by %d, requests by %d, %d requests; want 104,576, 1, 157", a.Method, a.SizeSpread, a.RequestSpread, a.Requests)
	}
	if a := all[1]; a.Method != "mxnet" || a.Requests != 247 || a.SizeSpread < all[0].SizeSpread {
		t.Errorf("%s: sizes differ by %d, %d requests; want more than by PAA, 247", a.Method, a.SizeSpread, a.Requests)
	}
}

// TestEveryElementOnce: whatever the tensors, each element is on one server.
func TestEveryElementOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tensors []Tensor
		for i := range rapid.IntRange(1, 30).Draw(t, "tensors") {
			tensors = append(tensors, Tensor{fmt.Sprint("t", i), rapid.Int64Range(1, 4_000_000).Draw(t, "elements")})
		}
		p := rapid.IntRange(1, 40).Draw(t, "servers")
		all, err := Compare(tensors, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			method := a.Method
			if len(a.Servers) != p {
				t.Fatalf("%s: %d servers, want %d", method, len(a.Servers), p)
			}
			held := map[string]int64{}
			ends := map[string]map[int64]int64{}
			for _, s := range a.Servers {
				var sum int64
				for _, x := range s.Pieces {
					if x.Elements < 1 {
						t.Fatalf("%s: empty piece %+v", method, x)
					}
					sum += x.Elements
					held[x.Tensor] += x.Elements
					if ends[x.Tensor] == nil {
						ends[x.Tensor] = map[int64]int64{}
					}
					ends[x.Tensor][x.Offset] = x.Offset + x.Elements
				}
				if sum != s.Elements {
					t.Fatalf("%s: a server says %d elements and holds %d", method, s.Elements, sum)
				}
			}
			for _, x := range tensors {
				at := int64(0)
				for at < x.Elements && ends[x.Name][at] > at {
					at = ends[x.Name][at]
				}
				if at != x.Elements || held[x.Name] != x.Elements {
					t.Fatalf("%s: %s is covered up to %d of %d, held %d", method, x.Name, at, x.Elements, held[x.Name])
				}
			}
		}
	})
}

func TestReadErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "f: found an empty file",
		"name,shape\n":                       "f: found no tensors",
		"name\na\n":                          "shape",
		"name,shape\na,64x0":                 `f:2:shape: found "64x0", want a shape`,
		"name,shape\na,3\na,4":               `f:3:name: found "a", which line 2 names too`,
		"name,shape\na,b,c":                  "f:2: found 3",
		"name,shape\na,-3":                   `found "-3"`,
		"name,shape\na,9999999x999999999999": "want a shape",
	} {
		_, err := Read(strings.NewReader(text), "f")
		var input *data.InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	for _, servers := range []int{0, -1, MaxServers + 1} {
		if _, err := Compare([]Tensor{{"a", 1}}, servers); err == nil {
			t.Errorf("%d servers are accepted", servers)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"name,shape\na,3x4\n", "name,shape\na,1x\n", "shape,name\n1,a\n", "#", "x", "\uFEFFname,shape\na,1", "name\tshape\na\t7"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tensors, err := Read(strings.NewReader(text), "f")
		if err != nil {
			return
		}
		for _, x := range tensors {
			if x.Elements < 1 || x.Name == "" {
				t.Fatalf("%q reads as %+v", text, x)
			}
		}
	})
}

func ExamplePAA() {
	tensors := []Tensor{{"embedding", 900}, {"weights", 300}, {"bias", 3}}
	for i, s := range PAA(tensors, 2) {
		fmt.Println(i, s.Elements, s.Pieces)
	}
	// Output:
	// 0 604 [{embedding 0 601} {bias 0 3}]
	// 1 599 [{embedding 601 299} {weights 0 300}]
}
