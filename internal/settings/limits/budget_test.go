package limits

import (
	"errors"
	"strings"
	"sync"
	"testing"
)

// refused reports whether a holding may not have a size.
func refused(t *testing.T, h *Holding, size int64) bool {
	t.Helper()
	err := h.Resize(size)
	if _, ok := errors.AsType[*BudgetError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return err != nil
}

func TestGreedyObjectsLeaveRoomToOthers(t *testing.T) {
	b := NewBudget(1200)
	for greedy, left := range []int64{400, 300, 200, 100, 34} {
		h := b.Open().Hold()
		for size := int64(1); !refused(t, h, size); size++ {
		}
		if b.Free() != left {
			t.Errorf("greedy object %d leaves %d of 1200, want %d", greedy+1, b.Free(), left)
		}
	}
	if h := b.Open().Hold(); refused(t, h, 3) {
		t.Error("a small object finds no room")
	}
}

func TestAnAccountGivesAllBack(t *testing.T) {
	b := NewBudget(300)
	a, other := b.Open(), b.Open()
	first, second := a.Hold(), a.Hold()
	if refused(t, first, 100) || refused(t, second, 50) || b.Free() != 150 {
		t.Errorf("%d are free", b.Free())
	}
	if !refused(t, first, 151) || b.Free() != 150 {
		t.Errorf("after a refusal, %d are free", b.Free())
	}
	second.Release()
	if refused(t, first, 20) || b.Free() != 280 {
		t.Errorf("of a smaller one, %d are free", b.Free())
	}
	held := other.Hold()
	if refused(t, held, 180) {
		t.Error("another object finds no room")
	}
	if !refused(t, first, 190) || refused(t, first, 10) {
		t.Error("the first one takes what is gone, or may not become smaller")
	}
	a.Close()
	if b.Free() != 120 || refused(t, first, 1000) {
		t.Errorf("after the end, %d are free", b.Free())
	}
	other.Close()
	if b.Free() != 300 {
		t.Errorf("after all, %d are free", b.Free())
	}
	var none *Account
	if refused(t, none.Hold(), 1<<40) {
		t.Error("no account refuses")
	}
	none.Close()
}

// What is read at the same time counts together, and no longer once it was read.
func TestDecodeChargesAnAccount(t *testing.T) {
	numbers := `{"numbers":[0` + strings.Repeat(`,0`, 50_000) + `]}`
	words := `{"inner":[{}` + strings.Repeat(`,{"name":"`+strings.Repeat("x", 900)+`"}`, 1000) + `]}`
	for name, text := range map[string]string{"numbers": numbers, "words": words} {
		b := NewBudget(3 << 20)
		one := generous
		one.Account = b.Open()
		for range 3 {
			if err := Decode(strings.NewReader(text), &outer{}, one); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if b.Free() != 3<<20 {
			t.Errorf("%s: %d are free afterwards", name, b.Free())
		}
		if refused(t, b.Open().Hold(), 2<<20) {
			t.Fatal("there is no room")
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				err := Decode(strings.NewReader(text), &outer{}, one)
				if _, ok := errors.AsType[*BudgetError](err); !ok {
					t.Errorf("%s: %v, want that the budget is exhausted", name, err)
				}
			})
		}
		all.Wait()
	}
}
