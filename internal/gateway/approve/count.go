package approve

import "time"

// Count returns how many questions are open.
func (b *Book) Count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expire(time.Now())
	return len(b.open)
}
