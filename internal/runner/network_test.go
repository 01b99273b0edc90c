package runner

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/cephtune/cephtune/internal/task"
)

// TestPlantedNetwork connects through a network that delays, loses and refuses packets, and has a small MTU.
func TestPlantedNetwork(t *testing.T) {
	behaviours := []struct {
		name      string
		behaviour behaviour
		want      task.RoundTrip
		least     time.Duration // 0 if no time is measured.
	}{
		{"prompt", behaviour{}, task.RoundTrip{Connects: 1, SegmentBytes: 1460, PathMTUBytes: 1500}, 1},
		{"delayed", behaviour{delay: 40 * time.Millisecond}, task.RoundTrip{Connects: 1, SegmentBytes: 1460, PathMTUBytes: 1500}, 40 * time.Millisecond},
		{"a small MTU", behaviour{segment: 1000}, task.RoundTrip{Connects: 1, SegmentBytes: 1000, PathMTUBytes: 1500}, 1},
		{"a lost packet", behaviour{drops: 1}, task.RoundTrip{Connects: 1, Lost: 1}, 0},
		{"no answer", behaviour{drops: 99}, task.RoundTrip{Connects: 1, Lost: 1}, 0},
		{"refused", behaviour{refuses: true}, task.RoundTrip{Connects: 1, Failed: 1}, 0},
	}
	var skipped error
	ended := make(chan struct{})
	go func() { // The thread ends with this goroutine, and so does its network.
		defer close(ended)
		runtime.LockOSThread()
		var all []behaviour
		for _, b := range behaviours {
			all = append(all, b.behaviour)
		}
		if err := plantNetwork(t, all); err != nil {
			skipped = err
			return
		}
		for i, b := range behaviours {
			var got task.RoundTrip
			info, _ := connect(t.Context(), fmt.Sprintf("192.0.2.%d:6800", i+2))
			trip := count(&got, info)
			if diff := cmp.Diff(b.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", b.name, diff)
			}
			if (len(trip) > 0) != (b.least > 0) || b.least > 0 && trip[0] < b.least.Seconds() {
				t.Errorf("%s: took %v s, want %v or more", b.name, trip, b.least)
			}
		}
	}()
	if <-ended; skipped != nil {
		t.Skipf("making a network needs root and /dev/net/tun: %v", skipped)
	}
}

// behaviour is how a planted peer answers packets that ask for a connection.
type behaviour struct {
	delay   time.Duration
	drops   int // How many it loses before it answers.
	segment uint16
	refuses bool
}

// plantNetwork moves the thread into a network of its own, in which 192.0.2.2 and the following addresses behave so.
func plantNetwork(t *testing.T, all []behaviour) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	tun, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket) //nolint:errcheck // Nothing was written.
	request := func(fd int, number uint, set func(*unix.Ifreq) error) {
		device, failed := unix.NewIfreq("planted0")
		err = errors.Join(err, failed, set(device), unix.IoctlIfreq(fd, number, device))
	}
	flags := func(f uint16) func(*unix.Ifreq) error {
		return func(device *unix.Ifreq) error { device.SetUint16(f); return nil }
	}
	address := func(a ...byte) func(*unix.Ifreq) error {
		return func(device *unix.Ifreq) error { return device.SetInet4Addr(a) }
	}
	request(tun, unix.TUNSETIFF, flags(unix.IFF_TUN|unix.IFF_NO_PI))
	request(socket, unix.SIOCSIFADDR, address(192, 0, 2, 1))
	request(socket, unix.SIOCSIFNETMASK, address(255, 255, 255, 0))
	request(socket, unix.SIOCSIFFLAGS, flags(unix.IFF_UP|unix.IFF_RUNNING))
	file := os.NewFile(uintptr(tun), "tun") // It can be polled only since it has a device.
	t.Cleanup(func() { _ = file.Close() })
	go behave(file, all)
	return err
}

// behave answers the packets of a network until it ends.
func behave(file *os.File, all []behaviour) {
	seen := map[byte]int{}
	for {
		packet := make([]byte, 1500)
		n, err := file.Read(packet)
		if err != nil {
			return
		}
		const tcp, syn = 6, 2
		header := 4 * int(packet[0]&15)
		if packet = packet[:n]; packet[0]>>4 != 4 || packet[9] != tcp || packet[header+13] != syn {
			continue
		}
		to := packet[19]
		b := all[to-2]
		if seen[to]++; seen[to] <= b.drops {
			continue
		}
		time.AfterFunc(b.delay, func() { _, _ = file.Write(b.answerTo(packet[12:header], packet[header:])) })
	}
}

// answerTo returns the answer to a TCP packet with these addresses.
func (b behaviour) answerTo(addresses, asked []byte) []byte {
	const header, reset, syn, ack = 20, 4, 2, 16
	p := make([]byte, header+header+4)
	p[0], p[8], p[9] = 4<<4|header/4, 64, unix.IPPROTO_TCP
	binary.BigEndian.PutUint16(p[2:], uint16(len(p)))
	copy(p[12:], addresses[4:8])
	copy(p[16:], addresses[:4])
	binary.BigEndian.PutUint16(p[10:], checksum(p[:header]))
	q := p[header:]
	copy(q, asked[2:4])
	copy(q[2:], asked[:2])
	binary.BigEndian.PutUint32(q[4:], 1000)
	binary.BigEndian.PutUint32(q[8:], binary.BigEndian.Uint32(asked[4:])+1)
	q[12], q[13] = byte(len(q)/4)<<4, syn|ack
	if b.refuses {
		q[13] = reset | ack
	}
	binary.BigEndian.PutUint16(q[14:], 65535)
	q[20], q[21] = 2, 4 // The largest segment.
	segment := b.segment
	if segment == 0 {
		segment = 1460
	}
	binary.BigEndian.PutUint16(q[22:], segment)
	pseudo := append(append(p[12:20:20], 0, unix.IPPROTO_TCP, 0, byte(len(q))), q...)
	binary.BigEndian.PutUint16(q[16:], checksum(pseudo))
	return p
}

func checksum(b []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum>>16 > 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}
