package session

import (
	"reflect"
	"testing"
	"time"
)

func TestSessionInThePlaceOfAVoidOneHasAnOrderOfItsOwn(t *testing.T) {
	first, err := Quick(7)
	if err != nil {
		t.Fatal(err)
	}
	again, err := QuickAgain(7, 2, DefaultWindow)
	if err != nil {
		t.Fatal(err)
	}
	if reflect.DeepEqual(first.Order, again.Order) || again.Number != 2 || len(first.Order) != len(again.Order) {
		t.Errorf("sessions 1 and 2 have the orders\n%v\n%v", first.Order, again.Order)
	}
	if got, want := first.Lasts(), time.Duration(4*len(first.Order))*(DefaultWindow+perSwitch); got != want {
		t.Errorf("it lasts %v, want %v", got, want)
	}
}
