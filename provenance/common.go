package provenance

import "strings"

// functionWords are the words of English that say nothing about where a text comes from.
const functionWords = `a an and are as at be been but by can did do does for from had has have he her his i if in into is it its me my
no not of on or our out she so that the their them then there they this to up us was we were what when where which who will with
would you your`

// common holds the function words.
var common = commonTable()

func commonTable() map[string]bool {
	table := map[string]bool{}
	for word := range strings.FieldsSeq(functionWords) {
		table[word] = true
	}
	return table
}
