package device

import (
	"fmt"
	"math/rand/v2"

	"golang.org/x/sys/unix"

	"github.com/cephtune/cephtune/internal/engine/openloop"
)

const (
	poolBytes = 16 << 20
	alignment = 4096 // of buffers for O_DIRECT
)

// buffers hold the data of operations. Operations in flight share them: what they read is not used, and what they
// write is random and never changes. So a thousand operations in flight take no more memory than one.
type buffers struct {
	memory []byte
	random *rand.PCG
}

func newBuffers(l *openloop.Load, content bool) (*buffers, error) {
	size := poolBytes + int(l.LargestBlock())
	memory, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("allocate %d bytes: %w", size, err)
	}
	b := &buffers{memory: memory, random: rand.NewPCG(uint64(l.Copies[0].Seed), 1)}
	if content {
		_, _ = rand.NewChaCha8([32]byte{byte(l.Copies[0].Seed), byte(l.Copies[0].Seed >> 8), byte(l.Copies[0].Seed >> 16)}).Read(memory) // Read never fails.
	}
	return b, nil
}

// memoryFor returns the memory for an operation.
func (b *buffers) memoryFor(op *openloop.Operation) []byte {
	index := int(b.random.Uint64()%(poolBytes/alignment)) * alignment
	return b.memory[index : index+int(op.Bytes)]
}
