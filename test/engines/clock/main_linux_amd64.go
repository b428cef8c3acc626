// Command clock sets the clock of one running process forward or back:
//
//	clock PID SECONDS
//
// A process reads the time through code that the kernel maps into it (vdso(7)).
// clock replaces clock_gettime there by code that adds the seconds to
// CLOCK_REALTIME; CLOCK_MONOTONIC is unchanged, as when the clock of a machine is
// set. A second call replaces the seconds.
package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// shifted answers clock_gettime(edi, rsi): the system call itself, and seconds
// added to what it says of clock 0.
var shifted = []byte{
	0xb8, 0xe4, 0, 0, 0, // mov eax, 228 (clock_gettime)
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi
	0x75, 0x0f, // jnz out
	0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, // mov rax, seconds
	0x48, 0x01, 0x06, // add [rsi], rax
	0x31, 0xc0, // xor eax, eax
	0xc3, // out: ret
}

// seconds is where in shifted they are.
const seconds = 13

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: clock PID SECONDS")
	}
	pid, err := strconv.Atoi(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	by, err := strconv.ParseInt(os.Args[2], 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	if err := set(pid, by); err != nil {
		log.Fatalf("set the clock of process %d: %v", pid, err)
	}
}

// set stops the process while its code is changed.
func set(pid int, by int64) error {
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer mem.Close()
	start, image, err := mapped(pid, mem)
	if err != nil {
		return err
	}
	entry, err := function(image, "__vdso_clock_gettime")
	if err != nil {
		return err
	}
	code := slices.Clone(shifted)
	binary.LittleEndian.PutUint64(code[seconds:], uint64(by))
	at := bytes.Index(image, shifted[:seconds])
	if at < 0 { // the last bytes of the mapping hold nothing
		if at = len(image) - 64; bytes.Trim(image[at:], "\x00") != nil {
			return fmt.Errorf("the mapping has no room at its end")
		}
	}
	jump := []byte{0xe9, 0, 0, 0, 0} // jmp, relative to its end
	binary.LittleEndian.PutUint32(jump[1:], uint32(at-entry-len(jump)))
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	time.Sleep(50 * time.Millisecond)
	if _, err := mem.WriteAt(code, start+int64(at)); err != nil {
		return err
	}
	_, err = mem.WriteAt(jump, start+int64(entry))
	return err
}

// mapped is where a process has the code of the kernel, and what it is.
func mapped(pid int, mem *os.File) (int64, []byte, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, nil, err
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(line, "[vdso]\n") {
			continue
		}
		var from, to int64
		if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil {
			return 0, nil, err
		}
		image := make([]byte, to-from)
		_, err := mem.ReadAt(image, from)
		return from, image, err
	}
	return 0, nil, fmt.Errorf("it has no [vdso]")
}

// function is the offset of a function in an image.
func function(image []byte, name string) (int, error) {
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return 0, err
	}
	all, err := f.DynamicSymbols()
	if err != nil {
		return 0, err
	}
	for _, s := range all {
		if s.Name == name {
			return int(s.Value), nil
		}
	}
	return 0, fmt.Errorf("its [vdso] has no %s", name)
}
