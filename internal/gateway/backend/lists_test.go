package backend

import (
	"context"
	"errors"
	"testing"

	"github.com/weir-mcp/weir/contract"
)

// fakes are connections that are never dialled.
type fakes []*Conn

func (f fakes) All() []*Conn                  { return f }
func (f fakes) Connect(context.Context) error { return nil }
func (f fakes) generation() *[]*Conn          { return nil }
func (f fakes) listsChanged()                 {}

// TestHeedEndsWithItsCall has a call give up while the store is asked for another one.
func TestHeedEndsWithItsCall(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	conduct := Conduct{Trust: func(context.Context, ...*Server) ([]contract.Trust, error) {
		close(asked)
		<-answer
		return []contract.Trust{contract.Trusted}, nil
	}}
	c := &Conn{subscriptions: subscriptions{dialer: &dialer{settings: settings{conduct: &conduct}}}}
	c.agree(Server{Name: "crm", Trust: contract.Trusted})
	lists := newLists(&environment{Options: &Options{Conduct: conduct}}, fakes{c})
	first := make(chan error)
	go func() { first <- lists.Heed(t.Context()) }()
	<-asked
	why := errors.New("the host has withdrawn it")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := lists.Heed(ctx); !errors.Is(err, why) {
		t.Errorf("a call that was withdrawn: %v", err)
	}
	close(answer)
	if err := <-first; err != nil {
		t.Error(err)
	}
}
