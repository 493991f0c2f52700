package speech

import (
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/pattern"
)

var (
	// ends are where a sentence ends: at a mark before white space, at an empty line, before an item of a list.
	ends = pattern.New(`[.!?;\x{2026}]+["')\]]*(?:\s+|$)|[\x{3002}\x{ff01}\x{ff1f}\x{ff1b}]|\n\s*\n|\n\s*(?:[-*\x{2022}]|\d+[.)])\s`)

	// turns are where a new clause begins that a prohibition before it does not cover, nor one after it.
	turns = pattern.New(`(?i)(?:,?\s+(?:but|instead|sondern|aber|mais|pero|sino|ma)\s)`)

	// reports begin reported speech, whose negations do not forbid the report.
	reports = pattern.New(`(?i)\b(?:tell|say|write|inform|reply|answer|message|email|mail|send|post|ask|remind|let|schreib|schreibe|sag|sage|antworte|dis|écris|di|escribe)\b[^\n]{0,200}?\s(?:that|whether|why|how|dass|ob|que|si|che)\s`)

	// descriptions deny that something is so, and forbid nothing.
	descriptions = pattern.New(`(?i)\b(?:is|are|was|were|am|be|been|has|have|had|did|does|will|would|could|it's|that's|i'm)\s+not\b(?:\s+(?:yet|sure|only|just|so|in|on|at|a|an|the|very))?|` +
		`\b(?:not|nicht)\s+(?:only|just|nur)\b|\bno(?:t)?\s+(?:later|more|less|earlier|longer)\s+than\b|\b(?:don't|do not|never|dont)\s+(?:forget|hesitate|miss|worry)\b|\bwhy\s+not\b|\bno\s+(?:problem|worries|doubt)\b|` +
		`\bno\b[,.]|\bno\.?\s*\d|\bif\s+not\b|\b(?:vergiss|vergessen sie)\s+nicht\b`)

	// excepting excludes people or things from a request, anywhere in the sentence.
	excepting = pattern.New(`(?i)\b(?:everybody|everyone|every|anybody|anyone|all|any|each|everything|anything|nobody|no one)(?:\s+(?:of|on|in|at|from|else|the|this|that|us|you|them|my|our|your|team|list|group|office|people|colleagues|members|others|recipients|person|one))*\s+(?:but|bar|save)\s|` +
		`\b(?:apart|aside)\s+from\b|\boff[\s-]+limits\b|\bhands\s+off\b|\b(?:leave|leaving|keep|keeping|left|kept)\b.*\b(?:out|away|off)\b|` +
		`\bbis\s+auf\b|\babgesehen\s+von\b|\b(?:lass|lasse|lassen|halte|halten)\b.*\b(?:aus|raus|heraus|weg|fern)\b|\bfinger\s+weg\b|` +
		`\ben\s+dehors\b|(?:^|\s)à\s+part\b|\bal\s+margen\b|\ba\s+parte\b`)

	// allowing are words after which a denied description forbids after all.
	allowing = pattern.New(`(?i)\bnot\s+(?:to|be|allowed|permitted|supposed|meant|okay|ok|acceptable|want|wish|any|anything|anyone|anybody)\b`)
)

// negators are words that forbid, except or take back, in some languages. Words that Latin alphabets share with
// harmless ones of others are left out.
var negators = pattern.Words(`never not don't dont doesn't didn't mustn't mustnt shouldn't shouldnt can't cant cannot won't wouldn't needn't isn't aren't ain't nor neither no none nobody nothing without
 avoid refrain except excluding exclude unless forbid forbidden prohibited prohibit stop skip ignore beware rather instead other
 nicht nie niemals kein keine keinen keinem keiner ohne außer vermeide unterlasse statt verboten
 ne pas jamais aucun aucune sans sauf évite évitez interdit n'envoie n'écris n'envoyez n'écrivez
 nunca jamás ningún ninguna ninguno sin excepto evita tampoco prohibido non senza tranne evitare nessun nessuno vietato
 não nem jamais nenhum nenhuma sem exceto niet geen nooit zonder behalve vermijd inte aldrig ikke aldri utan uden uten ingen inget
 minus spam phishing scam fraud fraudulent legit legitimate suspicious hormis excepté menos salvo fuorché eccetto oprócz poza förutom undtagen unntatt dışında
 nie nigdy bez żaden zakaz nikdy žádný zákaz не никогда без нельзя кроме запрещено değil asla yok hayır hariç yasak لا لم لن بدون ممنوع मत नहीं`)

// signs are the signs that forbid in scripts without spaces between words.
var signs = []string{"不", "别", "別", "勿", "禁", "没", "沒", "除了", "ない", "ません", "しないで", "するな", "마세요", "마라", "말고", "말아", "금지", "않", "อย่า", "ไม่", "ห้าม"}

// allowed returns the clauses of a text that forbid nothing. A prohibition covers its sentence, and the list that it
// introduces.
func allowed(text string) (clauses []string) {
	listed := false // in the list that a prohibition introduces
	for _, s := range sentences(text) {
		if !s.item {
			listed = false
		}
		for _, clause := range clausesOf(s.text) {
			if listed || forbids(clause) {
				listed = listed || strings.HasSuffix(strings.TrimSpace(clause), ":")
				continue
			}
			clauses = append(clauses, clause)
		}
	}
	return clauses
}

// A sentence is one, or an item of a list.
type sentence struct {
	text string
	item bool
}

func sentences(text string) (all []sentence) {
	from, item := 0, false
	for _, at := range ends().FindAllStringIndex(text, -1) {
		mark := text[at[0]:at[1]]
		all = append(all, sentence{text[from:at[0]] + strings.TrimRight(mark, " \t\n-*"), item})
		from, item = at[1], strings.Contains(mark, "\n") && strings.ContainsAny(mark, "-*\u2022)0123456789")
	}
	return append(all, sentence{text[from:], item})
}

// clausesOf cuts a sentence where a prohibition ends or begins.
func clausesOf(s string) (clauses []string) {
	if excepting().MatchString(s) {
		return []string{s}
	}
	from := 0
	for _, at := range turns().FindAllStringIndex(s, -1) {
		clauses = append(clauses, s[from:at[0]])
		from = at[1]
	}
	clauses = append(clauses, s[from:])
	if at := reports().FindStringIndex(clauses[0]); at != nil && !forbids(clauses[0][:at[1]]) {
		told := clauses[0][at[1]:]
		clauses[0] = clauses[0][:at[1]]
		clauses = append(clauses, told)
	}
	return clauses
}

// forbids reports whether a clause may forbid something.
func forbids(clause string) bool {
	clause = strings.NewReplacer("\u2019", "'", "\u02bc", "'").Replace(clause)
	if allowing().MatchString(clause) || excepting().MatchString(clause) {
		return true
	}
	clause = descriptions().ReplaceAllString(clause, " ")
	for _, sign := range signs {
		if strings.Contains(clause, sign) {
			return true
		}
	}
	return slices.ContainsFunc(wordsOf(clause), func(w string) bool { return negators()[w] })
}
