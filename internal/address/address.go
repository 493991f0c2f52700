// Package address is Weir's one reader of destinations: URLs, hosts, mail addresses and lists of them, telephone
// numbers and accounts.
//
// The program that acts on a text decides its meaning, and programs differ: browsers take http:\\host for a URL and
// 2130706433 for an address of IPv4, mail programs take one text for several recipients, IDNA has four characters for a
// dot. So a text has readings. [Read] returns the places of all of them, and whether there is but one reading; [Find]
// returns the places in running text. Who decides checks each place, and takes a text with more than one reading for
// unknown.
//
// Hosts are compared in the form that [Host] gives. [Internal] and [Public] tell which are of the user's own machine or network. Nothing here asks DNS.
package address

import (
	"html"
	"strings"
)

// longest is the most bytes of a text that are read; one that is longer has no sure reading.
const longest = 64 << 10

// Read reads a text that says where something goes: an address, a URL, a list of addresses. A text that is sure to lead nowhere, such as a
// file's name, has no place and is not sure.
func Read(text string) Reading {
	if len(text) > longest {
		r := Read(text[:longest])
		r.Sure = false
		return r
	}
	trimmed := strings.Trim(text, " \t\r\n")
	if trimmed == "" {
		return Reading{}
	}
	if p, ok := sureURL(trimmed); ok {
		return Reading{[]Place{p}, true}
	}
	if places, ok := sureMail(trimmed); ok {
		return Reading{places, true}
	}
	if p, ok := sureHost(trimmed); ok {
		return Reading{[]Place{p}, true}
	}
	s := scanner{wide: true}
	s.text(trimmed)
	if scheme, rest := schemeOf(trimmed); scheme != "" && strings.HasPrefix(rest, "/") || schemes[scheme] {
		s.hosts(Web, trimmed, urlHosts(trimmed))
	}
	if decoded := percentDecoded(trimmed); decoded != trimmed {
		s.text(decoded)
	}
	return Reading{Places: s.found}
}

// Plain returns a text as programs with good will show it: with character references of HTML as their signs, in
// compatible forms and without invisible characters. It reports whether that came to an end.
func Plain(text string) (string, bool) {
	for range 16 {
		plain := fold(html.UnescapeString(text))
		if plain == text {
			return plain, true
		}
		text = plain
	}
	return "", false
}

// Find returns the places in a running text that a person or a program could follow, as it is and as HTML has it, where signs may stand as
// character references.
func Find(text string) []Place {
	var s scanner
	s.text(text)
	if decoded := html.UnescapeString(text); decoded != text {
		s.text(decoded)
	}
	return s.found
}
