package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
)

// settle finds out whether a transaction was committed whose connection was lost over it: its appended rows tell, once
// no transaction holds the lock any more. If it was not, it returns an error that is worth another attempt.
func (w *writer) settle(ctx context.Context, u *unit, err error) error {
	w.disconnect()
	if u.batch == nil {
		return fmt.Errorf("%w: %w", errUncertain, err)
	}
	for attempt := range maxAttempts {
		if pause(attempt); ctx.Err() != nil {
			break
		}
		landed, asked := w.landed(ctx, u)
		w.disconnect()
		switch {
		case asked == nil && landed:
			return nil
		case asked == nil:
			return err
		}
	}
	return fmt.Errorf("%w: %w", errUncertain, err)
}

// landed reports whether the transaction is in the log: the head of that is the transaction's, or a later one with its
// first row.
func (w *writer) landed(ctx context.Context, u *unit) (landed bool, err error) {
	if err := w.connect(ctx); err != nil {
		return false, err
	}
	if _, err := w.statements.exec(ctx, w.dialect.begin); err != nil {
		return false, err
	}
	r, err := readHead(ctx, w.statements, w.dialect.lock)
	if err == nil && u.anchor != nil {
		err = u.anchor.Check(ctx, w.lasting(w.statements), r.head)
	}
	if err != nil {
		return false, err
	}
	return u.in(ctx, w.statements, r.head)
}

func (w *writer) connect(ctx context.Context) error {
	if w.conn != nil {
		return nil
	}
	c, err := w.db.Conn(ctx)
	if err != nil {
		return err
	}
	w.conn, w.statements = c, &statements{db: c, prepared: map[string]*sql.Stmt{}, bare: w.dialect.name == "sqlite"}
	return nil
}

// disconnect drops the connection for good.
func (w *writer) disconnect() {
	if w.conn == nil {
		return
	}
	_ = w.statements.close()
	_ = w.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = w.conn.Close()
	w.conn, w.statements = nil, nil
}
