package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// attempts is how often a change is planned anew because the host writes the file at the same time.
const attempts = 5

// ErrOther is the error of a change that would not be the one that was planned.
var ErrOther = errors.New("the servers have changed since the change was planned")

// Apply makes the change of a file: the configurations of Weir first, then the record, and the file of the host last.
func (i *Installer) Apply(f *File) error {
	unlock, err := i.journal.lock()
	if err != nil {
		return err
	}
	defer unlock()
	for range attempts {
		now, err := i.planFile(f.spec)
		if err != nil {
			return err
		}
		if now.signature() != f.signature() {
			return ErrOther
		}
		if err = i.apply(now); !errors.Is(err, errChanged) {
			return err
		}
	}
	return fmt.Errorf("%s: its host keeps writing it; end the host and try again", f.Path)
}

func (i *Installer) apply(f *File) error {
	r := &record{Path: f.Path, Target: f.target, Project: f.spec.project, Format: f.Format, Before: f.before, After: digest(f.after)}
	for _, p := range f.Parts {
		if len(p.Taken) == 0 && p.Stale == "" {
			continue
		}
		part := recordPart{Host: p.Host, Scope: p.Scope, List: p.List, Entry: p.Entry, Added: p.add, Config: p.Config}
		for _, t := range p.Taken {
			part.Taken = append(part.Taken, t.Name)
		}
		if p.configText != nil {
			if err := writeConfig(p); err != nil {
				return fmt.Errorf("writing %s: %w", p.Config, err)
			}
			part.Digest = digest(p.configText)
		}
		r.Parts = append(r.Parts, part)
	}
	if len(r.Parts) == 0 {
		return nil
	}
	if err := i.journal.note(r, i.opts.Now()); err != nil {
		return fmt.Errorf("writing the journal: %w", err)
	}
	if err := replace(f.target, f.before, f.after); err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", f.Path, err), os.Remove(r.file))
	}
	return nil
}

// writeConfig writes a configuration. One that an earlier installation left is kept beside it.
func writeConfig(p Part) error {
	old, err := os.ReadFile(p.Config)
	switch {
	case err == nil && p.add && string(old) != string(p.configText):
		if err := writeOwn(p.Config+".old", old); err != nil {
			return err
		}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return writeOwn(p.Config, p.configText)
}

// ApplyHooks makes the change of a file of hooks, with a record before it.
func (i *Installer) ApplyHooks(f *HookFile) error {
	unlock, err := i.journal.lock()
	if err != nil {
		return err
	}
	defer unlock()
	for range attempts {
		now, err := replan(i, f)
		if err != nil {
			return err
		}
		if !slices.Equal(now.Diff(), f.Diff()) {
			return ErrOther
		}
		if err = i.applyHooks(now); !errors.Is(err, errChanged) {
			return err
		}
	}
	return fmt.Errorf("%s: its host keeps writing it; end the host and try again", f.Path)
}

// replan plans the change of a file anew.
func replan(i *Installer, f *HookFile) (*HookFile, error) {
	if f.Setting != nil {
		return planSetting(i, f.Host)
	}
	return planHooks(i, f.Host, f.Path)
}

func (i *Installer) applyHooks(f *HookFile) error {
	if !f.Changes() {
		return nil
	}
	r := &record{Path: f.Path, Target: f.target, Format: f.format(), Before: f.before, After: digest(f.after),
		Created: f.before == nil, Hooks: &recordHooks{Host: f.Host.ID, Added: f.Added, Plugin: f.Plugin}}
	if f.Setting != nil {
		r.Hooks.Setting = member(f.Setting)
	}
	if err := i.journal.note(r, i.opts.Now()); err != nil {
		return fmt.Errorf("writing the journal: %w", err)
	}
	err := error(nil)
	if r.Created {
		err = create(f.target, f.after)
	} else {
		err = replace(f.target, f.before, f.after)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", f.Path, err), os.Remove(r.file))
	}
	return nil
}
