package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"regexp"

	"knee/data"
)

// castagnoli detects every error of up to five bits in a line of a journal, and
// bursts of up to 32 bits (Koopman, "32-bit cyclic redundancy codes for
// Internet applications", DSN 2002, table 1).
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var sealPattern = regexp.MustCompile(`,"sum":"[0-9a-f]{8}"\}`)

const sealLength = len(`,"sum":"01234567"}`)

// seal returns the line of an entry with a checksum over the study's mark and it.
func seal(e entry, study studyMark) ([]byte, error) {
	e.Sum = ""
	line, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	line = line[:len(line)-1] // the closing brace
	return fmt.Appendf(line, `,"sum":"%08x"}`, checksum(study, line)), nil
}

// sealed reports whether a line has a checksum, and whether it is right.
func sealed(line []byte, study studyMark) (has, right bool) {
	at := len(line) - sealLength
	if at < 0 || !sealPattern.Match(line[at:]) {
		return false, false
	}
	return true, string(line[at:]) == fmt.Sprintf(`,"sum":"%08x"}`, checksum(study, line[:at]))
}

func checksum(study studyMark, line []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(onLine(study)), castagnoli), castagnoli, line)
}

// unseal decodes a line, without checking its sum; an unknown key is an error.
func unseal(line []byte) (entry, error) {
	var e entry
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return entry{}, err
	}
	if d.More() {
		return entry{}, fmt.Errorf("more than one object")
	}
	if e.Config != nil {
		foldGPUType(e.Config)
	}
	if e.Measurement != nil {
		foldGPUType(&e.Measurement.Config)
	}
	return e, nil
}

// foldGPUType converts the GPU type by [data.GPUTypeOf], as earlier versions did not: the
// study has it so.
func foldGPUType(c *data.Config) { c.GPUType = data.GPUTypeOf(c.GPUType) }

// pieces splits a line after each checksum, and drops bytes between.
func pieces(line []byte) [][]byte {
	var out [][]byte
	for {
		at := sealPattern.FindIndex(line)
		if at == nil {
			break
		}
		piece := line[:at[1]]
		if begin := bytes.LastIndex(piece, []byte(`{"event":`)); begin > 0 {
			piece = piece[begin:]
		}
		out = append(out, piece)
		line = line[at[1]:]
	}
	if len(line) > 0 {
		out = append(out, line)
	}
	return out
}
