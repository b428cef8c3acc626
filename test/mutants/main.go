// Command mutants changes one operator of a package at a time and runs the
// package's tests: a mutant that passes is behaviour that no test checks. The
// source tree is not changed (go test -overlay).
//
//	go run ./test/mutants -n 20 ./allocate/solve ./profile/meter ./profile/store
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// flips is what an operator becomes.
var flips = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL,
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN, token.INC: token.DEC, token.DEC: token.INC,
}

// mutant is one operator of one file.
type mutant struct {
	file     string
	line     int
	offset   int
	from, to token.Token
}

func main() {
	n := flag.Int("n", 20, "mutants per package, drawn at random")
	skip := flag.Int("skip", 0, "mutants of the draw to leave out, to go on where a portion ended")
	seed := flag.Uint64("seed", 1, "seed of the draw")
	limit := flag.Duration("timeout", 2*time.Minute, "of the tests of one mutant; one that takes longer is killed")
	flag.Parse()
	if err := report(flag.Args(), *n, *skip, *seed, *limit); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// report tests mutants of every package and prints those that survive.
func report(packages []string, n, skip int, seed uint64, limit time.Duration) error {
	for _, dir := range packages {
		all, err := mutantsOf(dir)
		if err != nil {
			return err
		}
		rng := rand.New(rand.NewPCG(seed, seed))
		rng.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
		survived, tested, drawn := 0, 0, min(skip, len(all))
		for _, m := range all[drawn:] {
			if tested == n {
				break
			}
			drawn++
			outcome, err := m.test(dir, limit)
			if err != nil {
				return err
			}
			if outcome == broken {
				continue // such as a minus between texts
			}
			if tested++; outcome == passed {
				survived++
				fmt.Printf("survived: %s:%d: %s became %s\n", m.file, m.line, m.from, m.to)
			}
		}
		fmt.Printf("%s: %d of %d mutants survived, the draw up to %d of %d\n", dir, survived, tested, drawn, len(all))
	}
	return nil
}

// mutantsOf lists the operators of a package, tests left out.
func mutantsOf(dir string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			return nil, err
		}
		ast.Inspect(tree, func(node ast.Node) bool {
			var pos token.Pos
			var op token.Token
			switch e := node.(type) {
			case *ast.BinaryExpr:
				pos, op = e.OpPos, e.Op
			case *ast.AssignStmt:
				pos, op = e.TokPos, e.Tok
			case *ast.IncDecStmt:
				pos, op = e.TokPos, e.Tok
			default:
				return true
			}
			if to, ok := flips[op]; ok {
				at := set.Position(pos)
				all = append(all, mutant{file, at.Line, at.Offset, op, to})
			}
			return true
		})
	}
	return all, nil
}

// What became of a mutant.
const (
	killed = iota
	passed
	broken // it does not compile
)

// test runs the tests of the package with the mutant in place of its file.
func (m mutant) test(dir string, limit time.Duration) (outcome int, err error) {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return 0, err
	}
	temp, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(temp)
	changed := bytes.Join([][]byte{source[:m.offset], []byte(m.to.String()), source[m.offset+len(m.from.String()):]}, nil)
	replacement, overlay := filepath.Join(temp, "mutant.go"), filepath.Join(temp, "overlay.json")
	whole, err := filepath.Abs(m.file)
	if err != nil {
		return 0, err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {whole: replacement}})
	if err != nil {
		return 0, err
	}
	for path, content := range map[string][]byte{replacement: changed, overlay: text} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return 0, err
		}
	}
	out, err := exec.Command("go", "test", "-overlay", overlay, "-failfast", "-count=1", "-vet=off", "-timeout", limit.String(), dir).CombinedOutput()
	switch {
	case err == nil:
		return passed, nil
	case bytes.Contains(out, []byte("[build failed]")):
		return broken, nil
	}
	return killed, nil
}
