package address

import "strings"

// sureMail reads one mail address or a list of them that every mail program takes alike: each in the form ann@example.com or
// Ann <ann@example.com>, with commas or semicolons between them. Groups, comments, quoted local parts, routes and
// encoded words (RFC 5322, 3.4; RFC 2047) are read in more than one way.
func sureMail(s string) ([]Place, bool) {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, false
	}
	var places []Place
	for _, element := range elements(s) {
		if element = strings.Trim(element, " "); element == "" {
			continue
		}
		p, ok := oneMail(element)
		if !ok {
			return nil, false
		}
		places = append(places, p)
	}
	return places, len(places) > 0
}

// elements cuts a list of addresses at the separators outside of quotes.
func elements(s string) (all []string) {
	quoted, from := false, 0
	for i := range len(s) {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case !quoted && (s[i] == ',' || s[i] == ';'):
			all = append(all, s[from:i])
			from = i + 1
		}
	}
	return append(all, s[from:])
}

// oneMail reads one address.
func oneMail(s string) (Place, bool) {
	whole := s
	if inner, ok := strings.CutSuffix(s, ">"); ok {
		name, address, found := strings.Cut(inner, "<")
		if quoted := strings.Trim(name, " "); len(quoted) > 1 && quoted[0] == '"' && quoted[len(quoted)-1] == '"' {
			name = strings.ReplaceAll(quoted[1:len(quoted)-1], ",", " ")
		}
		if !found || strings.ContainsAny(fold(name), "<>@,;:\"()[]\\") || strings.Contains(name, "=?") {
			return Place{}, false
		}
		s = address
	} else if address, ok := strings.CutPrefix(s, "mailto:"); ok {
		s = address
	}
	local, domain, ok := strings.Cut(s, "@")
	// % and ! in the local part are routes to other hosts for some mailers; a slash is part of it, or ends a host.
	if !ok || local == "" || strings.ContainsFunc(local, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune("<>,;:\"()[]\\%!@/?#", r)
	}) || !isASCII(domain) || strings.ContainsAny(domain, "%[]:/?#") {
		return Place{}, false
	}
	host := Host(domain)
	if _, _, number := Number(host); host == "" || number {
		return Place{}, false
	}
	return Place{Mail, whole, host, local + "@" + host}, true
}

// mailHosts returns the hosts that mail programs may find in a text with an @: the text after each @, and the hosts of
// routes.
func mailHosts(s string) (hosts []string) {
	parts := strings.FieldsFunc(fold(s), func(r rune) bool { return r <= ' ' || strings.ContainsRune(`@%!:,;<>()"/?#&=`, r) })
	for i, p := range parts {
		if host := Host(strings.Trim(p, "[].")); host != "" && (i > 0 || strings.ContainsAny(s, "!%") || strings.HasPrefix(s, "@")) &&
			(i > 0 && i == len(parts)-1 || isDomain(host)) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}
