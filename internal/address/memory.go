package address

// A Memory is [Find] and [Read] for texts that are asked about again and again: it reads each once. The zero Memory is
// ready to use, by one goroutine. The slices that it returns belong to it.
type Memory struct {
	found map[string][]Place
	read  map[string]Reading
}

// Find is [Find].
func (m *Memory) Find(text string) []Place {
	places, ok := m.found[text]
	if !ok {
		if places = Find(text); m.found == nil {
			m.found = map[string][]Place{}
		}
		m.found[text] = places
	}
	return places
}

// Read is [Read].
func (m *Memory) Read(text string) Reading {
	r, ok := m.read[text]
	if !ok {
		if r = Read(text); m.read == nil {
			m.read = map[string]Reading{}
		}
		m.read[text] = r
	}
	return r
}
