package session

import (
	"reflect"
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/design/switchback"
)

func TestSessionInThePlaceOfAVoidOneHasAnOrderOfItsOwn(t *testing.T) {
	first, err := Quick(7, 1, 1, switchback.LastLook, DefaultWindow)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Quick(7, 2, 1, switchback.LastLook, DefaultWindow)
	if err != nil {
		t.Fatal(err)
	}
	if reflect.DeepEqual(first.Order, again.Order) || again.Number != 2 || len(first.Order) != len(again.Order) {
		t.Errorf("sessions 1 and 2 have the orders\n%v\n%v", first.Order, again.Order)
	}
	several, err := Quick(7, 1, 2, 8, DefaultWindow)
	if err != nil || len(first.Order) != 36 || len(several.Order) != 10 || len(several.Order[0]) != 3 {
		t.Errorf("%d blocks for 60 pairs, %d blocks for 8 pairs, %v", len(first.Order), len(several.Order), err)
	}
	if got, want := first.Lasts(), time.Duration(4*len(first.Order))*(DefaultWindow+perSwitch); got != want {
		t.Errorf("it lasts %v, want %v", got, want)
	}
}
