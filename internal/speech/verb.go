package speech

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/weir-mcp/weir/internal/pattern"
)

// families are verbs of tools' names with the everyday words for the same deed, first in English, then as others say
// them: the first line of each are verbs as tools have them, the rest are forms as people use them.
var families = []struct{ verbs, said string }{
	{"delete remove erase drop destroy purge wipe clear trash discard truncate prune unlink rm del uninstall",
		"deletion removal lösche löschen lösch löscht entferne entfernen entfernt supprime supprimer supprimez efface effacer borra borrar elimina eliminar eliminare cancella cancellare " +
			"verwijder verwijderen apaga apagar exclua excluir ta radera slet fjern usuń usunąć удали удалить 删除 削除 삭제"},
	{"cancel revoke withdraw abort terminate kill stop end close shutdown unsubscribe deactivate disable suspend archive reject decline leave quit",
		"cancellation revocation storniere stornieren beende beenden schließe schließen kündige kündigen sperre sperren widerrufe annule annuler ferme fermer résilie révoque arrête arrêter " +
			"cancela cancelar cierra cerrar annulla annullare chiudi chiudere annuleer annuleren sluit sluiten 取消 キャンセル 취소"},
	{"send post publish share reply forward mail email message notify tweet announce broadcast submit invite",
		"write tell answer schicke schicken sende senden schreibe schreib schreiben antworte teile veröffentliche lade envoie envoyer écris publie invite envía enviar escribe publica invita invia scrivi 发送 送信"},
	{"pay transfer refund buy purchase order book checkout charge payout withdraw donate sell reserve",
		"payment reservation booking zahle zahlen bezahle überweise überweisen kaufe kaufen buche buchen bestelle erstatte paie payer achète réserve paga pagar compra reserva transfiere acquista prenota 支付 予約"},
	{"merge rebase squash", "merge zusammenführen fusionne"},
	{"move rename relocate", "verschiebe verschieben benenne umbenennen déplace renomme mueve renombra sposta rinomina"},
	{"update edit change modify set replace overwrite write put patch reset rewrite save alter",
		"ändere ändern aktualisiere bearbeite setze ersetze überschreibe speichere modifie modifier change mets actualiza cambia modifica reemplaza aggiorna"},
	{"create add insert make new open append register schedule upload import push commit",
		"erstelle erstellen lege füge eröffne crée créer ajoute crea crear añade agrega aggiungi"},
	{"run execute exec start launch trigger deploy invoke call restart reboot apply rollback restore", "führe starte ausführen exécute lance ejecuta inicia esegui avvia"},
	{"unfollow unshare uninvite kick ban block mute expel evict", "entferne sperre"},
	{"scale resize drain cordon", "skaliere"},
	{"lock unlock grant approve assign transfer", "sperre genehmige"},
}

// readers are verbs of tools that change nothing, beside which another word of the name is the deed.
var readers = pattern.Words("get list read find search fetch query show view bulk batch force all")

// learnt returns the families of verbs in tools' names, and those of words that people use, as numbers in families.
var learnt = sync.OnceValues(func() (deeds, told map[string][]int) {
	deeds, told = map[string][]int{}, map[string][]int{}
	for i, f := range families {
		for verb := range strings.FieldsSeq(f.verbs) {
			deeds[verb] = append(deeds[verb], i)
			for _, form := range forms(verb) {
				told[form] = append(told[form], i)
			}
		}
		for word := range strings.FieldsSeq(f.said) {
			for _, form := range forms(word) {
				told[form] = append(told[form], i)
			}
		}
	}
	return deeds, told
})

// forms returns the regular forms of an English verb. Of other words it makes forms that no text contains.
func forms(verb string) []string {
	stem := strings.TrimSuffix(verb, "e")
	all := []string{verb, verb + "s", verb + "es", verb + "ed", stem + "ed", verb + "ing", stem + "ing"}
	if y, ok := strings.CutSuffix(verb, "y"); ok {
		all = append(all, y+"ied", y+"ies")
	}
	if last := verb[len(verb)-1:]; len(verb) < 7 && !strings.ContainsAny(last, "aeiouwxy") {
		all = append(all, verb+last+"ed", verb+last+"ing")
	}
	switch verb {
	case "send":
		all = append(all, "sent")
	case "pay":
		all = append(all, "paid")
	case "write", "rewrite", "overwrite":
		all = append(all, strings.TrimSuffix(verb, "e")+"ten")
	}
	return all
}

// Asks reports whether one of the texts requests the action in a tool's name: it holds each verb of the name, or a
// synonym, as a word of its own. Words that are in the server's name too are the product's. No text requests a tool
// whose name has no known verb.
func Asks(texts []string, tool, server string) bool {
	product := pattern.Words(strings.Join(NameWords(server), " "))()
	deeds, told := learnt()
	var wanted [][]int
	for _, w := range NameWords(tool) {
		if f := deeds[w]; f != nil && !product[w] && !readers()[w] {
			wanted = append(wanted, f)
		}
	}
	if len(wanted) == 0 {
		return false
	}
	var said []int
	for _, text := range texts {
		for _, w := range wordsOf(text) {
			said = append(said, told[w]...)
		}
		said = append(said, unparted(text)...)
	}
	// A name has one verb, and words after it that are often verbs too (cancel_order, delete_post). Where it destroys,
	// that has to be asked for.
	worst := slices.IndexFunc(wanted, func(f []int) bool { return f[0] < 2 })
	return slices.ContainsFunc(wanted[max(worst, 0)], func(f int) bool { return slices.Contains(said, f) })
}

// unparted returns the families of words of scripts that do not part words.
func unparted(text string) (found []int) {
	if !strings.ContainsFunc(text, isIdeograph) {
		return nil
	}
	_, told := learnt()
	for word, f := range told {
		if strings.ContainsFunc(word, isIdeograph) && strings.Contains(text, word) {
			found = append(found, f...)
		}
	}
	return found
}

// NameWords takes a name apart, written with any signs between its words or with capitals, in lower case.
func NameWords(name string) (words []string) {
	start, before := 0, rune(0) // of the word, and the sign before the one looked at
	cut := func(end int) {
		if end > start {
			words = append(words, strings.ToLower(name[start:end]))
		}
		start = end
	}
	for i, r := range name {
		_, size := utf8.DecodeRuneInString(name[i:])
		switch {
		case !unicode.IsLetter(r):
			cut(i)
			start = i + size
		case i > start && unicode.IsUpper(r):
			after, _ := utf8.DecodeRuneInString(name[i+size:])
			if unicode.IsLower(before) || unicode.IsLower(after) {
				cut(i)
			}
		}
		before = r
	}
	cut(len(name))
	return words
}
