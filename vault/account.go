package vault

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// maxNumbers is how many numbers and choices are remembered of a space. With more, any may have been told.
const maxNumbers = 256

// spent is more than looks may ever tell.
const spent = math.MaxInt32

// ErrSpent says that more bits would be told of the values of a space than may be.
var ErrSpent = errors.New("more would be told of hidden values than may be")

// Looked returns the bits that have been told of the values of a space.
func (v *Vault) Looked(ctx context.Context, key Space) (int, error) {
	s, err := v.space(ctx, key)
	if err != nil {
		return spent, fmt.Errorf("counting the bits of looks: %w", err)
	}
	return s.account.bits, nil
}

// Spend adds to the bits that have been told of the values of a space, for an answer that is told after it: they are
// kept when Spend returns. Where the sum would be above most, it adds nothing, and the error is ErrSpent: then nothing
// may be told. A negative number takes bits back of an answer that was not told.
func (v *Vault) Spend(ctx context.Context, key Space, bits, most int) error {
	return v.spend(ctx, key, bits, most, func(a *account) *int { return &a.bits })
}

// Venture is Spend for another sum: of the bits that a call with values tells by whether it goes.
func (v *Vault) Venture(ctx context.Context, key Space, bits, most int) error {
	return v.spend(ctx, key, bits, most, func(a *account) *int { return &a.odds })
}

func (v *Vault) spend(ctx context.Context, key Space, bits, most int, of func(*account) *int) error {
	if bits == 0 {
		return nil
	}
	v.used.Store(true)
	err := v.change(ctx, key, func(s *space) error {
		told := of(&s.account)
		sum := min(max(*told+bits, 0), spent)
		if bits > 0 && sum > most {
			return ErrSpent
		}
		*told = sum
		return nil
	})
	if err != nil {
		return fmt.Errorf("counting the bits of looks: %w", err)
	}
	return nil
}

// Told notes the answer to a look at a value of a space that is a number or a choice. It is kept when Told returns.
func (v *Vault) Told(ctx context.Context, key Space, answer json.RawMessage) error {
	digits := remembered(answer)
	if digits == "" {
		return nil
	}
	v.used.Store(true)
	s, err := v.space(ctx, key)
	if err != nil {
		return err
	}
	if known, all, err := v.numbers(ctx, s); err != nil || !all || slices.Contains(known, digits) {
		return err
	}
	number := Value{ID: rand.Text(), Part: json.RawMessage(digits)}
	row, err := v.row(key, &number)
	if err != nil {
		return err
	}
	err = v.change(ctx, key, func(s *space) error {
		if s.account.full = s.account.full || len(s.numbers) >= maxNumbers; !s.account.full {
			s.put = append(s.put, row)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("noting a number that a look told: %w", err)
	}
	return nil
}

// numbers returns the answers that are remembered of a space. They are not all if there were too many, or one is sealed
// for another key.
func (v *Vault) numbers(ctx context.Context, s *space) (known []string, all bool, err error) {
	if s.account.full {
		return nil, false, nil
	}
	for i := range s.numbers {
		number, err := v.load(ctx, s.numbers[i].row)
		if errors.Is(err, ErrSealed) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		known = append(known, string(number.Part))
	}
	return known, true, nil
}

// Quiet reports whether the store had no values when this vault was opened, and nothing was kept or announced with Use
// since. Then [Vault.Names] finds nothing.
func (v *Vault) Quiet() bool { return !v.used.Load() }

// Names reports whether a text holds a number or a choice that looks have told of the values of a space.
func (v *Vault) Names(ctx context.Context, key Space, text string) (bool, error) {
	if text == "" {
		return false, nil
	}
	s, err := v.space(ctx, key)
	if err != nil {
		return true, err
	}
	known, complete, err := v.numbers(ctx, s)
	if err != nil || !complete {
		return true, err
	}
	return named(known, text), nil
}
