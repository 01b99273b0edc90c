package limits

import (
	"fmt"
	"sync"
)

const (
	// perRest is how many bytes an account may hold for each byte that is free. So some memory always stays free.
	perRest = 2
	// reserved and small are parts of the budget: only accounts that hold at most a twelfth may take the last third.
	// So after the first greedy object, each other one has a twelfth at most.
	reserved, small = 3, 12
)

// Budget is the memory that all documents of untrusted writers share in a process, in bytes. Each object that has
// such writers opens an account. Budgets, accounts and holdings are safe for concurrent use.
type Budget struct {
	total int64

	mu   sync.Mutex
	free int64
}

// NewBudget returns a budget of this many bytes.
func NewBudget(total int64) *Budget { return &Budget{total: total, free: total} }

// Free returns the bytes that no account holds.
func (b *Budget) Free() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.free
}

// Open returns a new account. Close the account once its object is gone. The account of a nil budget is nil.
func (b *Budget) Open() *Account {
	if b == nil {
		return nil
	}
	return &Account{budget: b}
}

// Account counts the memory that the documents of one object hold. It refuses what would leave too little to all other
// objects. Only one object at a time works on a Ceph cluster, so few objects hold much. A nil account refuses nothing;
// it is for tests, and for programs that read few documents.
type Account struct {
	budget *Budget
	held   int64 // guarded by the budget's mutex, as is closed
	closed bool
}

// BudgetError says that an object holds too much memory.
type BudgetError struct {
	// Held are the bytes that the object held before it wanted more. Total is the size of the budget.
	Held, Total int64
}

// Error implements error.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("its clients' figures take more than the %d MiB that the manager can spare: use fewer clients or a shorter load, or raise the manager's memory limit", e.Held>>20+1)
}

// Close gives all memory of the account back. Afterwards the account counts nothing.
func (a *Account) Close() {
	if a == nil {
		return
	}
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.budget.free += a.held
	a.held, a.closed = 0, true
}

// add takes bytes from the budget, or gives them back if n is negative.
func (a *Account) add(n int64) error {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	if a.closed {
		return nil
	}
	if n > 0 && !a.mayHold(a.held+n, a.budget.free-n) {
		return &BudgetError{Held: a.held, Total: a.budget.total}
	}
	a.held += n
	a.budget.free -= n
	return nil
}

// mayHold reports whether the account may hold a number of bytes, which leaves another number free.
func (a *Account) mayHold(held, free int64) bool {
	return held <= perRest*free && (held <= a.budget.total/small || free >= a.budget.total/reserved)
}

// Hold returns a holding of no bytes.
func (a *Account) Hold() *Holding { return &Holding{account: a} }

// Holding is the memory of one document, or of several that are kept and dropped together. A nil holding refuses
// nothing.
type Holding struct {
	account *Account

	mu   sync.Mutex
	size int64
}

// Resize sets the size of the holding. If the account has no room, the holding keeps its size, and the error is a
// [*BudgetError]. A smaller size is never refused.
func (h *Holding) Resize(size int64) error {
	if h == nil || h.account == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.account.add(size - h.size); err != nil {
		return err
	}
	h.size = size
	return nil
}

// Release gives the memory back.
func (h *Holding) Release() { _ = h.Resize(0) } // A smaller size is never refused.
